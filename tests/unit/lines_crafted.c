/* SPDX-License-Identifier: MIT
 * Debug information that no compiler makes, by hand. The code is 16 bytes a line of a plan:
 *
 *     crafted       wide                  in which one is inlined
 *     crafted + 16  wide, narrow          the latter begins last
 *     crafted + 32  wide                  in which another one is inlined
 *     crafted + 48  (nothing)
 *     crafted + 64  of a unit whose entries follow each other round and round
 *     crafted + 80  of a unit whose entries share a long list of ranges
 */
__asm__(".text\n"
        ".globl crafted\n"
        ".type crafted, %function\n"
        "crafted: .skip 96\n"
        ".size crafted, 96\n"

        ".section .debug_abbrev, \"\", %progbits\n"
        ".Labbrev:\n"
        ".uleb128 1, 0x11\n" /* a unit: name, low_pc, high_pc */
        ".byte 1\n"
        ".uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
        ".uleb128 2, 0x2e\n" /* a function: likewise */
        ".byte 1\n"
        ".uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
        ".uleb128 3, 0x1d\n" /* an inlined one: likewise, and call_line */
        ".byte 0\n"
        ".uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0x59, 0x0b, 0, 0\n"
        ".uleb128 4, 0x0b\n" /* a block: sibling */
        ".byte 1\n"
        ".uleb128 0x01, 0x13, 0, 0\n"
        ".uleb128 5, 0x1d\n" /* an inlined function: ranges */
        ".byte 0\n"
        ".uleb128 0x55, 0x17, 0, 0\n"
        ".byte 0\n"

        ".section .debug_info, \"\", %progbits\n"
        ".macro unit name, low, size\n"
        ".long .Lend_\\name - .Lversion_\\name\n"
        ".Lversion_\\name: .short 4\n"
        ".long .Labbrev\n"
        ".byte 8\n"
        "entry 1, \\name, \\low, \\size\n"
        ".endm\n"
        ".macro entry abbrev, name, low, size\n"
        ".uleb128 \\abbrev\n"
        ".asciz \"\\name\"\n"
        ".quad \\low\n"
        ".long \\size\n"
        ".endm\n"

        "unit spans, crafted, 64\n"
        "entry 2, wide, crafted, 48\n"
        "entry 3, first, crafted, 8\n"
        ".byte 11\n"
        "entry 2, narrow, crafted + 16, 16\n"
        "entry 3, inner, crafted + 16, 8\n"
        ".byte 22\n"
        ".byte 0\n"
        "entry 3, second, crafted + 40, 8\n"
        ".byte 33\n"
        ".byte 0, 0\n"
        ".Lend_spans:\n"

        ".Lround: unit round, crafted + 64, 16\n"
        ".rept 200\n" /* what comes next is said to be inside and behind */
        ".uleb128 4\n"
        ".long . + 4 - .Lround\n"
        ".endr\n"
        ".skip 201\n"
        ".Lend_round:\n"

        "unit shared, crafted + 80, 16\n"
        "entry 2, all, crafted + 80, 16\n"
        ".rept 20000\n"
        ".uleb128 5\n"
        ".long .Lranges\n"
        ".endr\n"
        ".byte 0, 0\n"
        ".Lend_shared:\n"

        ".section .debug_ranges, \"\", %progbits\n"
        ".quad 0, 0\n"
        ".Lranges:\n"
        ".rept 20000\n"
        ".quad 80, 81\n"
        ".endr\n"
        ".quad 0, 0\n"
        ".text\n");

int main(void)
{
    return 0;
}
