# Reads what `cargo test -- --show-output` prints, passes on what a reader wants to see, and counts.
#
# A test that prints a line `skipped: why` and passes has not tested: it counts as skipped, and so does
# an ignored one. Counts go to the file `counts` ("passed failed skipped"), reasons to the file `skips`
# (a line each: reason, tab, test).

BEGIN { printf "" > skips }

/^ *(Running|Doc-tests) / { binary = $1 == "Running" ? $(NF - 1) : "doc-tests " $2 }

# What passing tests printed is looked through, not passed on.
/^successes:$/ { within = 1 }
/^(failures:|test result:)/ { within = 0 }
!within { print; fflush() }

within && /^---- .* stdout ----$/ { test = binary " " $2 }
within && /^skipped: / {
    printf "%s\t%s\n", substr($0, 10), test > skips
    if (!(test in seen)) { seen[test] = 1; unmade++ }
}

/^test result: / {
    for (i = 3; i < NF; i++) {
        if ($(i + 1) == "passed;") passed += $i
        if ($(i + 1) == "failed;") failed += $i
        if ($(i + 1) == "ignored;") ignored += $i
    }
}

END { print passed - unmade, failed + 0, ignored + unmade > counts }
