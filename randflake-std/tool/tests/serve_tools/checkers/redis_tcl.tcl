# Runs Redis' own tests on a server that is there: its host and port and the list of what is left out are given. Where this is
# run, `tests` of Redis' sources is. Their client and assertions are used; what starts servers is not.

lassign $argv host port list
set ::tls 0
set ::singledb 1
set ::verbose 0
set ::valgrind 0
set ::traceleaks 0
foreach part {redis util test} { source tests/support/$part.tcl }

set ::left_out {}
set opened [open $list]
foreach line [split [read $opened] \n] {
    if {$line eq "" || [string match #* $line]} continue
    # Fields have two spaces or more between them.
    regexp {^(\S+)\s\s+(.+?)\s\s+(.+)$} $line -> kind pattern reason
    lappend ::left_out $kind $pattern
}
close $opened

proc reconnect {args} {
    # Those of the test before may still be counted.
    for {set left 100} {$left > 0} {incr left -1} {
        catch {$::client close}
        set ::client [redis $::host $::port]
        if {![catch {$::client ping}]} return
        after 50
    }
}
proc r {args} { {*}$::client {*}$args }
proc srv {args} { dict get [dict create host $::host port $::port client $::client] [lindex $args end] }
proc redis_client {args} { redis $::host $::port }
set ::opened {}
proc redis_deferring_client {args} {
    lappend ::opened [redis $::host $::port 1]
    lindex $::opened end
}
proc tags {tags code} { uplevel 1 $code }
proc start_server {options {code {}}} {
    reconnect
    uplevel 1 $code
}

array set ::counts {passed 0 failed 0 left 0}
# Files and tests are left out by their names, tests also by what they do.
proc is_left_out {file_or_test name {code {}}} {
    foreach {kind pattern} $::left_out {
        if {$kind eq $file_or_test && [string match $pattern $name]} { return 1 }
        if {$kind eq "code" && [regexp -- $pattern $code]} { return 1 }
    }
    return 0
}
proc test {name code {expected undefined} {tags {}}} {
    if {[is_left_out test $name $code]} {
        incr ::counts(left)
        return
    }
    set failed [catch {uplevel 1 $code} result]
    foreach client $::opened { catch {$client close} }
    set ::opened {}
    if {!$failed && ($expected eq "undefined" || [string match $expected $result])} {
        incr ::counts(passed)
        return
    }
    incr ::counts(failed)
    puts "failed: $name: $result"
    reconnect
}

set files [lsort [concat [glob -directory tests/unit -tails *.tcl] [glob -directory tests/unit -tails */*.tcl]]]
foreach file $files {
    if {![is_left_out file $file]} { source tests/unit/$file }
}
puts "checked: $counts(passed) passed, $counts(failed) failed, $counts(left) left out"
exit [expr {$counts(failed) > 0}]
