import { expect, it } from "vitest"
import { type Command, type Flags, runCommandLine } from "../../src/boot/command-line.ts"

const receivedFlags: Flags[] = []
const run = async (flags: Flags) => {
  receivedFlags.push(flags)
  return { exitCode: 3, data: { seen: receivedFlags.length } }
}
const commands: Record<string, Command> = {
  serve: {
    help: "Start the server",
    flags: { "--data": { hint: "DIR", help: "Folder" }, "--grpc-listen": { hint: "A", help: "b" } },
    run,
  },
  setup: { help: "Set up", flags: { "--org": { hint: "N", help: "n", required: true } }, run },
  "admin recover": {
    help: "Let an owner in",
    arguments: { OWNER: { help: "Who" } },
    flags: { "--quick": { help: "At once" } },
    run: async (flags) => {
      receivedFlags.push(flags)
      return { text: "in", data: { in: true } }
    },
  },
}
const about = { name: "latchkey", help: "An identity service", version: "1.2.3" }

async function runLine(...words: string[]): Promise<{ code: number; printed: string }> {
  let printed = ""
  const code = await runCommandLine(about, commands, words, (text) => {
    printed += Bun.stripANSI(text)
  })
  return { code, printed }
}

it("passes flags to a command by their full names, and returns its exit code", async () => {
  expect(await runLine("serve", "--data", "x y", "--grpc-listen=:1")).toEqual({
    code: 3,
    printed: "",
  })
  expect(receivedFlags.at(-1)).toMatchObject({ "--data": "x y", "--grpc-listen": ":1" })
  await runLine("serve", "--data=a=b")
  expect(receivedFlags.at(-1)).toEqual({ "--data": "a=b" })
})

it("accepts names of two words, positional words, and flags without a value", async () => {
  expect(await runLine("admin", "recover", "ada", "--quick")).toEqual({ code: 0, printed: "in" })
  expect(receivedFlags.at(-1)).toEqual({ OWNER: "ada", "--quick": "on" })
  await runLine("admin", "recover", "-")
  expect(receivedFlags.at(-1)).toEqual({ OWNER: "-" })
  expect((await runLine("admin", "recover", "--help")).printed).toContain("latchkey admin recover")
  await expect(runLine("admin", "recover")).rejects.toThrow("latchkey admin recover requires OWNER")
  await expect(runLine("admin", "recover", "a", "b")).rejects.toThrow('unexpected argument "b"')
  await expect(runLine("admin", "recover", "a", "--quick=1")).rejects.toThrow(
    "does not take a value",
  )
  await expect(runLine("admin", "recver", "a")).rejects.toThrow("did you mean admin recover?")
})

it("returns JSON for programs", async () => {
  const { printed } = await runLine("admin", "recover", "ada", "--json")
  expect(JSON.parse(printed)).toEqual({ in: true })
})

it("prints help without a command, and a command's own help on request", async () => {
  expect((await runLine()).printed).toContain("serve|setup")
  expect((await runLine("--help")).printed).toBe((await runLine()).printed)
  const serve = await runLine("serve", "--help")
  expect(serve.code).toBe(0)
  expect(serve.printed).toContain("latchkey serve")
  expect(serve.printed).toContain("--grpc-listen")
})

it("rejects unknown words and suggests the nearest known one", async () => {
  await expect(runLine("sevre")).rejects.toThrow("unknown command sevre; did you mean serve?")
  await expect(runLine("serve", "--dta", "x")).rejects.toThrow("did you mean --data?")
  await expect(runLine("serve", "--grpcListen", "x")).rejects.toThrow("did you mean --grpc-listen?")
  await expect(runLine("serve", "--no-data")).rejects.toThrow("unknown flag --no-data")
  await expect(runLine("serve", "-d", "x")).rejects.toThrow("unknown flag -d")
  await expect(runLine("constructor")).rejects.toThrow("unknown command constructor")
})

it("rejects extra words, flags without a value, and missing flags", async () => {
  await expect(runLine("serve", "now")).rejects.toThrow('unexpected argument "now"')
  await expect(runLine("serve", "--", "now")).rejects.toThrow(/"--" is not supported/)
  await expect(runLine("serve", "--data")).rejects.toThrow("--data requires a value")
  await expect(runLine("serve", "--data=")).rejects.toThrow("--data requires a value")
  await expect(runLine("serve", "--data", "--grpc-listen", ":1")).rejects.toThrow(
    "requires a value",
  )
  await expect(runLine("setup")).rejects.toThrow("latchkey setup requires --org")
})

it("prints help in two columns without escape sequences, and marks required flags", async () => {
  let printed = ""
  const print = (text: string) => {
    printed += text
  }
  await runCommandLine(about, commands, ["setup", "--help"], print)
  expect(printed).toBe(
    [
      "Set up (latchkey setup v1.2.3)",
      "",
      "USAGE latchkey setup [OPTIONS] --org=<N>",
      "",
      "OPTIONS",
      "",
      "  --org=<N>  n (Required)",
      "  --json     Print the result as JSON",
      "",
      "EXIT CODES",
      "",
      "  0  done",
      "  1  rejected or failed",
      "  2  invalid usage",
    ].join("\n"),
  )
})

it.each(["--no-data", "--noData", "--Data", "-d", "--data-"])(
  "does not accept %s as a flag",
  async (flag) => {
    await expect(runLine("serve", flag, "x")).rejects.toThrow(`unknown flag ${flag}`)
  },
)
