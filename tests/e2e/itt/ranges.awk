# SPDX-License-Identifier: MIT
# Numbers of ranges come from the program's ids: only whether they pair is shown.
{
    while (match($0, / id=[0-9]+/)) {
        id = substr($0, RSTART + 4, RLENGTH - 4)
        if (!(id in seen))
            seen[id] = "R" ++count
        $0 = substr($0, 1, RSTART) "range=" seen[id] substr($0, RSTART + RLENGTH)
    }
    print
}
