export -n home components program hands host waiting approval
# Placet as the command may start it, on the home of the host that runs it.
placet() { PLACET_HOME=$home PLACET_COMPONENTS=$components "$program" "$@"; }
# The exit code, and what was said last.
ended() { local said code; said=$("$@" 2>&1); code=$?; said=$(tail -n 1 <<<"$said"); echo "$code ${said##*: }"; }
# The same with the sentence of placet.
refused() { local said code; said=$("$@" 2>&1); code=$?; said=$(grep -o 'refused: .*\|cannot be reached: .*' <<<"$said" | head -n 1); echo "$code $said"; }
# The test program's answer.
hand() { HANDS="$2 $3" "$hands" --exact "self_approval::$1" --nocapture 2>&1 | grep -v '^running\|^test \|^$' | head -n 1; }
serves() { placet serve <frames; }
