import { expect, it } from "vitest"
import { type CommandLine, type Flags, runCommandLine } from "../../src/boot/command-line.ts"

const seen: Flags[] = []
const run = async (flags: Flags) => {
  seen.push(flags)
  return { code: 3, data: { seen: seen.length } }
}
const commands: Record<string, CommandLine> = {
  serve: {
    help: "Run the service",
    flags: { "--data": { hint: "DIR", help: "Folder" }, "--grpc-listen": { hint: "A", help: "b" } },
    run,
  },
  setup: { help: "Set up", flags: { "--org": { hint: "N", help: "n", required: true } }, run },
  "admin recover": {
    help: "Let an owner in",
    words: { OWNER: { help: "Who" } },
    flags: { "--quick": { help: "At once" } },
    run: async (flags) => {
      seen.push(flags)
      return { text: "in", data: { in: true } }
    },
  },
}
const about = { name: "latchkey", help: "An identity service", version: "1.2.3" }

async function type(...words: string[]): Promise<{ code: number; printed: string }> {
  let printed = ""
  const code = await runCommandLine(about, commands, words, (text) => {
    printed += Bun.stripANSI(text)
  })
  return { code, printed }
}

it("hands a command its flags by their full names, and answers its exit code", async () => {
  expect(await type("serve", "--data", "x y", "--grpc-listen=:1")).toEqual({ code: 3, printed: "" })
  expect(seen.at(-1)).toMatchObject({ "--data": "x y", "--grpc-listen": ":1" })
  await type("serve", "--data=a=b")
  expect(seen.at(-1)).toEqual({ "--data": "a=b" })
})

it("takes names of two words, words without a flag, and flags without a value", async () => {
  expect(await type("admin", "recover", "ada", "--quick")).toEqual({ code: 0, printed: "in" })
  expect(seen.at(-1)).toEqual({ OWNER: "ada", "--quick": "on" })
  await type("admin", "recover", "-")
  expect(seen.at(-1)).toEqual({ OWNER: "-" })
  expect((await type("admin", "recover", "--help")).printed).toContain("latchkey admin recover")
  await expect(type("admin", "recover")).rejects.toThrow("latchkey admin recover needs OWNER")
  await expect(type("admin", "recover", "a", "b")).rejects.toThrow('"b" is one word too many')
  await expect(type("admin", "recover", "a", "--quick=1")).rejects.toThrow("takes no value")
  await expect(type("admin", "recver", "a")).rejects.toThrow("did you mean admin recover?")
})

it("answers programs in JSON", async () => {
  const { printed } = await type("admin", "recover", "ada", "--json")
  expect(JSON.parse(printed)).toEqual({ in: true })
})

it("prints help without a command, and a command's own when asked", async () => {
  expect((await type()).printed).toContain("serve|setup")
  expect((await type("--help")).printed).toBe((await type()).printed)
  const serve = await type("serve", "--help")
  expect(serve.code).toBe(0)
  expect(serve.printed).toContain("latchkey serve")
  expect(serve.printed).toContain("--grpc-listen")
})

it("refuses what it does not know, naming the nearest that it knows", async () => {
  await expect(type("sevre")).rejects.toThrow("unknown command sevre; did you mean serve?")
  await expect(type("serve", "--dta", "x")).rejects.toThrow("did you mean --data?")
  await expect(type("serve", "--grpcListen", "x")).rejects.toThrow("did you mean --grpc-listen?")
  await expect(type("serve", "--no-data")).rejects.toThrow("unknown flag --no-data")
  await expect(type("serve", "-d", "x")).rejects.toThrow("unknown flag -d")
  await expect(type("constructor")).rejects.toThrow("unknown command constructor")
})

it("refuses stray words, flags without a value and missing flags", async () => {
  await expect(type("serve", "now")).rejects.toThrow('"now" is one word too many')
  await expect(type("serve", "--", "now")).rejects.toThrow(/has no use here/)
  await expect(type("serve", "--data")).rejects.toThrow("--data needs a value")
  await expect(type("serve", "--data=")).rejects.toThrow("--data needs a value")
  await expect(type("serve", "--data", "--grpc-listen", ":1")).rejects.toThrow("needs a value")
  await expect(type("setup")).rejects.toThrow("latchkey setup needs --org")
})

it("lays help out in two columns, without escapes, and says what is required", async () => {
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
      "  --json     Answer in JSON, for programs",
      "",
      "EXIT CODES",
      "",
      "  0  done",
      "  1  refused, or failed",
      "  2  not typed rightly",
    ].join("\n"),
  )
})

it.each(["--no-data", "--noData", "--Data", "-d", "--data-"])(
  "takes %s for no spelling of a flag",
  async (flag) => {
    await expect(type("serve", flag, "x")).rejects.toThrow(`unknown flag ${flag}`)
  },
)
