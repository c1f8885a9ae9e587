//! More than may be asked about at once: what is over waits, in order, and is judged again.

use crate::check;
use anyhow::{Context as _, Result, ensure};
use placet_tests::pair::Pair;
use placet_tests::script::Script;

/// A session with 32 open approvals, A1 to A32 on the items i1 to i32, in its turn `one`.
fn full() -> Result<Script<Pair>> {
    let mut script = Script::new(Pair::new()?);
    script.session.whole_fold_every = 64;
    script.run("start")?;
    script.run("turn one")?;
    for index in 1..=32 {
        says(&mut script, &format!("propose i{index} : touch {index}"), "approvalOpened")?;
    }
    Ok(script)
}

/// Runs a line whose answer must hold every one of some words.
fn says(script: &mut Script<Pair>, line: &str, words: &str) -> Result<()> {
    let answer = script.run(line).with_context(|| line.to_owned())?.unwrap_or_default();
    for word in words.split(", ") {
        ensure!(answer.contains(word), "{line}: {word} is not in {answer}");
    }
    Ok(())
}

/// Runs a line whose answer must be exactly this.
fn is(script: &mut Script<Pair>, line: &str, wanted: &str) -> Result<()> {
    let answer = script.run(line).with_context(|| line.to_owned())?.unwrap_or_default();
    ensure!(answer == wanted, "{line}\nwanted {wanted}\nfound  {answer}");
    Ok(())
}

#[test]
fn forty_proposals_are_all_decided_in_their_order() -> Result<()> {
    let mut script = full()?;
    for index in 33..=40 {
        let last = if index == 40 { " last" } else { "" };
        let line = format!("propose i{index}{last} : touch {index}");
        is(&mut script, &line, &format!("actionProposed(i{index} ask unconfined)"))?;
    }
    // Each decision makes room for the one that waits longest.
    for index in 1..=40 {
        let next = index + 32;
        let line = format!("decide A{index} abort");
        let mut wanted =
            format!("approvalResolved(A{index} abort user) itemEnded(i{index} rejected denied)");
        if next <= 40 {
            wanted.push_str(&format!(
                " actionJudged(i{next} ask unconfined) approvalOpened(A{next} stage 0)"
            ));
        }
        if index == 40 {
            wanted.push_str(" turnCompleted(one completed)");
        }
        wanted.push_str(&format!(" -> settled(i{index})"));
        if next <= 40 {
            wanted.push_str(&format!(" ask(A{next} stage 0)"));
        }
        is(&mut script, &line, &wanted)?;
    }
    is(&mut script, "pending", "pending nothing")
}

#[test]
fn what_waits_is_judged_by_what_holds_when_its_turn_comes() -> Result<()> {
    let mut script = full()?;
    // The same command as one that is open, one that a rule will deny, one whose path
    // becomes protected, and one that a mode will settle.
    script.run("propose i33 : touch 1")?;
    script.run("propose i34 : rm 34")?;
    script.run("propose i35 : touch 35")?;
    script.run("propose i36 last : touch 36")?;
    script.run("rule no-rm deny shell rm")?;
    script.run("path 35 protected")?;
    let grant = "approvalResolved(A1 approvedForSession user), actionJudged(i33 allow covered), \
                 approvalResolved(A33 approvedForSession policy), prepare(i33), \
                 actionJudged(i34 deny denyRule), itemEnded(i34 rejected denied), \
                 actionJudged(i35 ask protected), approvalOpened";
    says(&mut script, "decide A1 allow_session", grant)?;
    is(&mut script, "release i33", "executionStarted(i33) -> run(i33)")?;
    // The grant took no place, so the next one had its turn, and the rule denied it.
    let log = |kind: &str, script: &Script<Pair>| {
        script.session.log.iter().filter(|record| record.header.kind == kind).count()
    };
    ensure!(log("actionJudged", &script) == 3, "{}", log("actionJudged", &script));
    says(&mut script, "mode denyUnmatched", "modeChanged")?;
    says(
        &mut script,
        "decide A2 abort",
        "actionJudged(i36 deny unconfined), itemEnded(i36 rejected denied)",
    )?;
    is(&mut script, "explain i90 : touch 35", "deny protected")
}

#[test]
fn what_asks_nobody_is_not_held_up() -> Result<()> {
    let mut script = full()?;
    script.run("propose i33 : touch 33")?;
    is(
        &mut script,
        "propose i34 : ls",
        "actionProposed(i34 allow covered) executionStarted(i34) -> run(i34)",
    )?;
    for index in 0..32 {
        says(&mut script, &format!("turn t{index}"), "turnQueued")?;
    }
    is(&mut script, "turn t32", "refused rejected(turn_queue_full)")
}

#[test]
fn a_stop_ends_what_waits() -> Result<()> {
    let mut script = full()?;
    script.run("propose i33 last : touch 33")?;
    says(
        &mut script,
        "stop",
        "approvalResolved(A32 abort user), itemEnded(i33 cancelled interrupted), turnCompleted(one cancelled)",
    )?;
    is(&mut script, "pending", "pending nothing")
}

#[test]
fn a_restart_leaves_it_waiting_and_asks_no_mode() -> Result<()> {
    let mut script = full()?;
    script.run("propose i33 : touch 33")?;
    script.run("propose i34 agent : touch 34")?;
    script.run("propose i35 last : touch 35")?;
    script.run("rule touch-2 allow shell touch 2")?;
    // Two of the 32 are settled by today's rule and the agent's is gone, so there is room
    // for what waited: it is asked about, whatever the mode says.
    says(
        &mut script,
        "recover",
        "itemEnded(i34 cancelled agentGone), actionJudged(i33 ask unconfined)",
    )?;
    let open = script.session.ledger().pending.len();
    ensure!(open == 32, "{open} are open");
    Ok(())
}

#[test]
fn an_agent_says_what_it_likes_and_may_fail() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > say m0 : nobody listens
        refused misuse
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > say m1 : I will look
        agentMessage(m1)
        > finish one
        turnCompleted(one completed)
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > finish two : no such tool
        turnCompleted(two failed)
        ",
    )?;
    Ok(())
}

#[test]
fn a_session_is_left_or_let_go() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > unload
        refused misuse
        > leave
        refused rejected(turn_running)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > unload
        refused misuse
        # What waits for a person outlives the host: it is left as it is.
        > leave
        commandNoted sessionClosed(leave)
        > pending
        pending A1
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_once
        approvalResolved(A2 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > leave
        refused rejected(turn_running)
        > leave stop
        commandNoted turnStopRequested(one leave) -> halt(i1)
        > ended i1 cancelled
        itemEnded(i1 cancelled ran) turnCompleted(one cancelled) sessionClosed(leave) -> settled(i1)
        > unload
        sessionClosed(idle)
        ",
    )?;
    Ok(())
}

#[test]
fn a_turn_may_replace_the_running_one() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        # Nothing runs: it just starts.
        > turn one busy=replace
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        # What waits for a person is given up at once.
        > turn two busy=replace display=shown
        turnStopRequested(one client) approvalResolved(A1 abort user) itemEnded(i1 cancelled interrupted) turnCompleted(one cancelled) turnStarted(two) userMessage -> settled(i1) begin(two)
        > propose i2 last : ls
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > turn three
        turnQueued(three)
        # What runs has to end first; then the new turn goes before the one that waited.
        > turn four busy=replace
        turnStopRequested(two client) turnQueued(four) -> halt(i2)
        > ended i2 cancelled
        itemEnded(i2 cancelled ran) turnCompleted(two cancelled) turnStarted(four) userMessage -> settled(i2) begin(four)
        > turn five busy=wait
        refused invalid
        > turn six busy=steer
        refused rejected(if_busy_unsupported)
        ",
    )?;
    Ok(())
}
