import { describe, expect, test } from "vitest"
import { confirmRemoval, type RecoveryPreview, recoveredText } from "../../src/boot/recovery.ts"

const removed: RecoveryPreview["removed"] = [
  { kind: "passkey", name: "Chrome on macOS" },
  { kind: "u2f", name: "" },
  { kind: "otp", name: "" },
  { kind: "recovery_codes", name: "" },
]
const preview = { loginName: "ada", removed }

/** Somebody at a terminal who answers that; undefined: nobody is there. */
function terminalOf(answer: string | undefined) {
  const asked: string[] = []
  const ask = async (text: string) => {
    asked.push(text)
    return answer ?? ""
  }
  return { asked, terminal: { isInteractive: answer !== undefined, ask } }
}

describe("before factors are removed", () => {
  test.each(["y", "Y", "yes", " YES "])("%j agrees to the list that was shown", async (answer) => {
    const { asked, terminal } = terminalOf(answer)
    await confirmRemoval(terminal)(preview)
    expect(asked).toEqual([
      [
        "  This removes from ada:",
        "    - passkey “Chrome on macOS”",
        "    - security key",
        "    - authenticator app",
        "    - recovery codes",
        "  Remove them and go on? (--keep-factors keeps them) [y/N] ",
      ].join("\n"),
    ])
  })

  test.each(["", "n", "no", "yess", "--yes"])("%j does not", async (answer) => {
    const { terminal } = terminalOf(answer)
    await expect(confirmRemoval(terminal)(preview)).rejects.toMatchObject({
      id: "start.recovery_canceled",
    })
  })

  test("a script is asked nothing, and refused with the flags that it needs", async () => {
    const { asked, terminal } = terminalOf(undefined)
    await expect(confirmRemoval(terminal)(preview)).rejects.toThrow(
      "this would remove from ada: passkey “Chrome on macOS”, security key, authenticator app, " +
        "recovery codes; --yes removes them, --keep-factors keeps them",
    )
    expect(asked).toEqual([])
  })

  test("nobody is asked about nothing", async () => {
    for (const answer of ["n", undefined]) {
      const { asked, terminal } = terminalOf(answer)
      await confirmRemoval(terminal)({ loginName: "ada", removed: [] })
      expect(asked).toEqual([])
    }
  })

  test("a name that a user chose moves no cursor", async () => {
    const { asked, terminal } = terminalOf("y")
    const name = "\u001b[2J\u001b[1;1HNothing\u202e\r\n"
    await confirmRemoval(terminal)({ loginName: "ada", removed: [{ kind: "passkey", name }] })
    expect(asked[0]).toContain("- passkey “Nothing”\n")
  })
})

test("what was removed is listed with the link", () => {
  const recovered = { link: "https://id.example.com/x", loginName: "ada", expires: 0 }
  const text = recoveredText({ ...recovered, isNewOwner: false, removed })
  expect(text).toContain(
    "  Removed: passkey “Chrome on macOS”, security key, authenticator app, recovery codes.\n",
  )
  expect(recoveredText({ ...recovered, isNewOwner: false, removed: [] })).not.toContain("Removed")
})
