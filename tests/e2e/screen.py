"""What a person sees in the end of what was written to a terminal: just enough of one for what errand writes."""
import re
import unicodedata

CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def columns_of(character):
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def picture(text, columns):
    """Its lines, with `{1;31}` and `{0}` where a style begins and ends. An escape sequence that it does not know is a
    ValueError: it is none that errand may write."""
    rows, row, column, style = [[]], 0, 0, ""

    def cell(at):
        while len(rows[row]) <= at:
            rows[row].append((" ", ""))

    at = 0
    while at < len(text):
        character = text[at]
        if found := CONTROL.match(text, at):
            numbers, kind = found.groups()
            at = found.end()
            if kind == "m":
                style = "" if numbers in ("", "0") else numbers
            elif kind == "A":
                row = max(0, row - int(numbers or 1))
            elif kind in "JK" and numbers == "":
                del rows[row][column:]
                if kind == "J":
                    del rows[row + 1:]
            else:
                raise ValueError(f"an escape sequence that nobody expects: {found[0]!r}")
            continue
        at += 1
        if character == "\r":
            column = 0
        elif character == "\t":
            column = min(columns - 1, column // 8 * 8 + 8)
            cell(column - 1)
        elif character == "\n":
            row += 1
            if row == len(rows):
                rows.append([])
        elif ord(character) < 0x20 or character == "\x7f":
            raise ValueError(f"a control character that nobody expects: {character!r}")
        else:
            width = columns_of(character)
            if width == 0 and column > 0:
                shown, of = rows[row][column - 1]
                rows[row][column - 1] = (shown + character, of)
                continue
            if column + width > columns:
                row, column = row + 1, 0
                if row == len(rows):
                    rows.append([])
            for offset, shown in enumerate([character, ""][:width]):
                cell(column + offset)
                rows[row][column + offset] = (shown, style)
            column += width
    return "".join(painted(one).rstrip() + "\n" for one in rows).rstrip("\n") + "\n"


def painted(row):
    """A blank between two characters of one style has it, any other has none: that is not to be seen."""
    text, style = "", ""
    for at, (character, of) in enumerate(row):
        if character == " ":
            behind = next((one for shown, one in row[at:] if shown != " "), "")
            of = style if style == behind else ""
        if of != style:
            text += ("{0}" if style else "") + (f"{{{of}}}" if of else "")
            style = of
        text += character
    return text + ("{0}" if style else "")
