import { describe, expect, test } from "vitest"
import {
  confirmRemoval,
  formatRecoveryResult,
  type RecoveryPreview,
} from "../../src/boot/recovery.ts"

const removed: RecoveryPreview["removed"] = [
  { kind: "passkey", name: "Chrome on macOS" },
  { kind: "u2f", name: "" },
  { kind: "otp", name: "" },
  { kind: "recovery_codes", name: "" },
]
const preview = { loginName: "ada", removed }

/** A terminal at which the user types `answer`; undefined: not a terminal. */
function terminalOf(answer: string | undefined) {
  const asked: string[] = []
  const ask = async (text: string) => {
    asked.push(text)
    return answer ?? ""
  }
  return { asked, terminal: { isInteractive: answer !== undefined, ask } }
}

describe("before factors are removed", () => {
  test.each(["y", "Y", "yes", " YES "])("%j confirms the list", async (answer) => {
    const { asked, terminal } = terminalOf(answer)
    await confirmRemoval(terminal)(preview)
    expect(asked).toEqual([
      [
        "  This removes the following factors of ada:",
        '    - passkey "Chrome on macOS"',
        "    - security key",
        "    - authenticator app",
        "    - recovery codes",
        "  Continue? (--keep-factors keeps them) [y/N] ",
      ].join("\n"),
    ])
  })

  test.each(["", "n", "no", "yess", "--yes"])("%j does not confirm it", async (answer) => {
    const { terminal } = terminalOf(answer)
    await expect(confirmRemoval(terminal)(preview)).rejects.toMatchObject({
      id: "start.recovery_canceled",
    })
  })

  test("a script is not prompted, and is rejected with the required flags", async () => {
    const { asked, terminal } = terminalOf(undefined)
    await expect(confirmRemoval(terminal)(preview)).rejects.toThrow(
      'this would remove the following factors of ada: passkey "Chrome on macOS", ' +
        "security key, authenticator app, recovery codes; " +
        "use --yes to remove them or --keep-factors to keep them",
    )
    expect(asked).toEqual([])
  })

  test("an empty list needs no confirmation", async () => {
    for (const answer of ["n", undefined]) {
      const { asked, terminal } = terminalOf(answer)
      await confirmRemoval(terminal)({ loginName: "ada", removed: [] })
      expect(asked).toEqual([])
    }
  })

  test("a name chosen by a user can't move the cursor", async () => {
    const { asked, terminal } = terminalOf("y")
    const name = "\u001b[2J\u001b[1;1HNothing\u202e\r\n"
    await confirmRemoval(terminal)({ loginName: "ada", removed: [{ kind: "passkey", name }] })
    expect(asked[0]).toContain('- passkey "Nothing"\n')
  })
})

test("the removed factors are listed with the link", () => {
  const recovered = { link: "https://id.example.com/x", loginName: "ada", expires: 0 }
  const text = formatRecoveryResult({ ...recovered, isNewOwner: false, removed })
  expect(text).toContain(
    '  Removed: passkey "Chrome on macOS", security key, authenticator app, recovery codes.\n',
  )
  expect(formatRecoveryResult({ ...recovered, isNewOwner: false, removed: [] })).not.toContain(
    "Removed",
  )
})
