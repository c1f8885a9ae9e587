# Leaves the session, and kills the supervisor, whose children would be nobody's then.
supervisor=$(ps -o sid= -p $$ | tr -d ' ')
(setsid bash -c 'trap "" TERM HUP; echo $$ >escaped.part; mv escaped.part escaped; sleep 600; :' &)
until [ -s escaped ]; do sleep 0.01; done
kill -9 "$supervisor"
sleep 600
