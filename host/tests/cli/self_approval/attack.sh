# Every line says what was tried and what came of it; see `check` in mod.rs.
opened() {
    local n=0 fd
    for fd in {0..63}; do (exec 9<"/proc/$1/fd/$fd") 2>/dev/null && n=$((n + 1)); done
    echo "opened $n of 64"
}
say() { echo "> $1 = $2"; }

say capabilities "$(grep CapEff /proc/self/status | tr -dc 0-9a-f | tail -c 16)"
say 'key, by a name that nobody sees' "$(head -c 32 "$home/home.key" | wc -c) bytes"
say environment "$(env | grep -c '^PLACET_') variables of placet, $(env | grep -cF "$home") with its home"
say descriptors "$(ls /proc/self/fd | paste -sd' '), stdin is $(readlink /proc/self/fd/0)"
terminal() { exec 9<>/dev/tty; }
say terminal "$(ended terminal)"
cat frames
say output said
to_stdin() { cat frames >"/proc/$host/fd/0"; }
say 'stdin of the host' "$(ended to_stdin)"
say 'descriptors of the host' "$(opened "$host")"
say 'descriptors of the supervisor' "$(opened "$(ps -o sid= -p $$ | tr -d ' ')")"
read_memory() { exec 9<"/proc/$host/mem"; }
write_memory() { exec 9>>"/proc/$host/mem"; }
read_environment() { exec 9<"/proc/$host/environ"; }
say 'memory of the host, to read' "$(ended read_memory)"
say 'memory of the host, to write' "$(ended write_memory)"
say 'environment of the host' "$(ended read_environment)"
say 'a descriptor taken from the host' "$(hand an_agent_that_approves_itself_fails take "$host")"
say socket "$(hand an_agent_that_approves_itself_fails socket "$home"/hosts/*.sock)"
say 'placet pending' "$(refused placet pending)"
say 'placet decide' "$(refused placet decide "$approval" allow_once)"
say 'placet grants revoke' "$(refused placet grants revoke --all)"
say 'placet run' "$(refused placet run --session "$waiting")"
say 'placet log delete' "$(refused placet log delete "$waiting")"
say 'placet serve' "$(refused serves)"
held=0 locks=0
for lock in "$home"/hosts/*.lock; do
    locks=$((locks + 1))
    flock -n "$lock" true || held=$((held + 1))
done
say 'lock of the host' "held $held of $locks"
raise() { ulimit -x unlimited; }
say 'mark, raised' "$(ended raise)"
lower() { (ulimit -x 7 && placet decide "$approval" allow_once); }
say 'mark, lowered' "$(refused lower)"
lower_and_serve() { (ulimit -x 7 && serves); }
say 'mark, lowered, to serve' "$(refused lower_and_serve)"
root_of_its_own() { PLACET_HOME=$home PLACET_COMPONENTS=$components unshare --user --map-root-user "$program" decide "$approval" allow_once; }
say 'as root of a namespace' "$(refused root_of_its_own)"
processes_of_its_own() { PLACET_HOME=$home PLACET_COMPONENTS=$components unshare --user --map-root-user --pid --fork --mount-proc "$program" serve <frames; }
say 'in processes of its own' "$(refused processes_of_its_own)"
