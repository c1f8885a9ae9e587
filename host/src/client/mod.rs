//! A small MSP client, for the commands of this program that talk to a host: over
//! a pipe within this process, or over the socket of another.
//!
//! One task reads and one writes, so that [`Client::next`] may be given up at any
//! time without losing a frame. What arrives while an answer is awaited is held
//! for `next`, up to a limit. Every request of the host gets its receipt at once:
//! it says that the request was seen, and decides nothing.

mod error;

pub use error::{ClientError, Refusal};

use crate::limits;
use crate::transport::{Line, LineReader};
use serde_json::{Value, json};
use std::collections::VecDeque;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

/// What a host says unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

/// A connection to a host, after its handshake.
pub struct Client {
    outgoing: mpsc::Sender<String>,
    incoming: mpsc::Receiver<Result<Value, ClientError>>,
    held: VecDeque<Message>,
    last_id: u64,
}

impl Client {
    /// Shakes hands with the host at the other end.
    ///
    /// # Errors
    /// When it refuses, is gone, or is no MSP host.
    pub async fn open<R, W>(input: R, output: W, name: &str) -> Result<Client, ClientError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, frames) = mpsc::channel(limits::CLIENT_FRAMES_QUEUED_MAX);
        let (sender, incoming) = mpsc::channel(limits::CLIENT_FRAMES_QUEUED_MAX);
        tokio::spawn(write(output, frames));
        tokio::spawn(read(input, sender));
        let mut client = Client { outgoing, incoming, held: VecDeque::new(), last_id: 0 };
        let info = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
        client.request("initialize", json!({"clientInfo": info})).await?;
        client.send(&json!({"jsonrpc": "2.0", "method": "initialized"})).await?;
        Ok(client)
    }

    /// Asks for something and waits for the answer.
    ///
    /// # Errors
    /// The host's own error, or that there will be no answer.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.last_id = self.last_id.saturating_add(1);
        let id = json!(self.last_id);
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&frame).await?;
        loop {
            match self.receive().await? {
                Frame::Said(_, message) => {
                    if self.held.len() >= limits::CLIENT_MESSAGES_HELD_MAX {
                        let why = format!("it says too much before it answers {method}");
                        return Err(ClientError::Protocol(why));
                    }
                    self.held.push_back(message);
                }
                Frame::Answer { id: to, result } if to == id => {
                    return result.map_err(ClientError::Refused);
                }
                // An error without an id is about the connection as a whole.
                Frame::Answer { id: Value::Null, result: Err(refusal) } => {
                    return Err(ClientError::Refused(refusal));
                }
                Frame::Answer { .. } => {}
            }
        }
    }

    /// The same with a fresh command id among the parameters.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn command(&mut self, method: &str, mut params: Value) -> Result<Value, ClientError> {
        if let Value::Object(members) = &mut params {
            members.insert("commandId".to_owned(), json!(uuid::Uuid::now_v7().to_string()));
        }
        self.request(method, params).await
    }

    /// Decides the current requirement of a request, as the host presented it.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn decide(
        &mut self,
        session: &str,
        request: &Value,
        choice: &str,
        feedback: Option<&str>,
    ) -> Result<Value, ClientError> {
        let mut params = json!({
            "sessionId": session, "approvalId": request["approvalId"],
            "requirementId": request["currentRequirementId"], "choiceId": choice,
        });
        if let (Value::Object(members), Some(feedback)) = (&mut params, feedback) {
            members.insert("feedback".to_owned(), json!(feedback));
        }
        self.command("approval/decide", params).await
    }

    /// What the host says next. It may be given up and called again.
    ///
    /// # Errors
    /// When the host is gone or says something that is no frame.
    pub async fn next(&mut self) -> Result<Message, ClientError> {
        if let Some(message) = self.held.pop_front() {
            return Ok(message);
        }
        loop {
            match self.receive().await? {
                Frame::Said(_, message) => return Ok(message),
                Frame::Answer { id: Value::Null, result: Err(refusal) } => {
                    return Err(ClientError::Refused(refusal));
                }
                Frame::Answer { .. } => {}
            }
        }
    }

    async fn receive(&mut self) -> Result<Frame, ClientError> {
        let frame = self.incoming.recv().await.unwrap_or(Err(ClientError::Ended))?;
        let frame = Frame::parse(frame)?;
        if let Frame::Said(Some(id), _) = &frame {
            let receipt = json!({"jsonrpc": "2.0", "id": id, "result": {}});
            // Not awaited, so that giving up `next` cannot lose the message.
            if self.outgoing.try_send(receipt.to_string()).is_err() {
                return Err(ClientError::Ended);
            }
        }
        Ok(frame)
    }

    async fn send(&self, frame: &Value) -> Result<(), ClientError> {
        self.outgoing.send(frame.to_string()).await.map_err(|_| ClientError::Ended)
    }
}

/// A frame of the host.
enum Frame {
    /// With an id where the host waits for a receipt.
    Said(Option<Value>, Message),
    Answer {
        id: Value,
        result: Result<Value, Refusal>,
    },
}

impl Frame {
    fn parse(mut frame: Value) -> Result<Frame, ClientError> {
        let mut take = |name: &str| frame.get_mut(name).map(Value::take);
        let (id, method, params) = (take("id"), take("method"), take("params"));
        match (id, method) {
            (id, Some(Value::String(method))) => {
                let message = Message { method, params: params.unwrap_or(Value::Null) };
                Ok(Frame::Said(id, message))
            }
            (Some(id), None) => match (take("result"), take("error")) {
                (Some(result), None) => Ok(Frame::Answer { id, result: Ok(result) }),
                (None, Some(error)) => Ok(Frame::Answer { id, result: Err(Refusal::new(error)) }),
                _ => Err(ClientError::Protocol("its answer has no result".to_owned())),
            },
            _ => Err(ClientError::Protocol("it sends what is neither answer nor event".to_owned())),
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(mut output: W, mut frames: mpsc::Receiver<String>) {
    while let Some(mut frame) = frames.recv().await {
        frame.push('\n');
        let written = async {
            output.write_all(frame.as_bytes()).await?;
            output.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
    // The host sees the end of its input, and ends in order.
    let _ = output.shutdown().await;
}

async fn read<R: AsyncRead + Unpin>(input: R, sender: mpsc::Sender<Result<Value, ClientError>>) {
    let mut lines = LineReader::new(BufReader::new(input));
    loop {
        let frame = match lines.next().await {
            Ok(Some(Line::Whole(line))) => serde_json::from_slice(&line)
                .map_err(|error| ClientError::Protocol(format!("its line is no JSON: {error}"))),
            Ok(Some(Line::Oversized(_))) => {
                Err(ClientError::Protocol("its line is beyond the limit".to_owned()))
            }
            Ok(None) | Err(_) => return,
        };
        let failed = frame.is_err();
        if sender.send(frame).await.is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
