supervisor=$(ps -o sid= -p $$ | tr -d ' ')
if [ "$1" = start ]; then
    (setsid bash daemon.sh "$supervisor" </dev/null >/dev/null 2>&1 &)
    sleep 600
fi
trap '' TERM HUP
echo $$ >escaped
# Stopped first, so that neither has time to end what it sees.
kill -STOP "$1" "$host"
kill -9 "$1" "$host"
for _ in {1..6000}; do
    [ -s next ] && break
    [ -d . ] || exit
    sleep 0.01
done
approval=$(cat next)
say() { echo "> $1 = $2" >>told.part; }
say 'placet decide' "$(refused placet decide "$approval" allow_once)"
say 'placet run' "$(refused placet run --session "$waiting")"
say 'placet serve' "$(refused serves)"
say socket "$(hand what_kills_its_host_too_decides_nothing_with_the_next_one socket "$home"/hosts/*.sock)"
lower_and_serve() { (ulimit -x 7 && serves); }
say 'mark, lowered, to serve' "$(refused lower_and_serve)"
mv told.part told
