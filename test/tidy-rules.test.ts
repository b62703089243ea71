// The rules of tidy.test.ts, each tested with code that violates it and with valid code.
import { describe, expect, test } from "vitest"
import * as words from "./support/tidy-calls.ts"
import * as layering from "./support/tidy-console.ts"
import { imports, libraries, polyfillOrder } from "./support/tidy-imports.ts"
import * as kernel from "./support/tidy-kernel.ts"
import * as walls from "./support/tidy-limits.ts"
import { loginLayerRule } from "./support/tidy-login.ts"
import * as prose from "./support/tidy-prose.ts"
import { parse, type Rule } from "./support/tidy-source.ts"

/** A rule, the path, code that it reports once, and code that it accepts. */
type RuleExample = {
  readonly rule: Rule
  readonly path?: string
  readonly bad: string
  readonly good: string
}

const lines = (count: number, line: string) => `${line}\n`.repeat(count)

const examples: Readonly<Record<string, RuleExample>> = {
  "a line of 101 columns": {
    rule: walls.lineLength,
    bad: `// ${"x".repeat(98)}`,
    good: `// ${"x".repeat(97)}\nimport { x } from "./${"x".repeat(90)}.ts"`,
  },
  "a file of 501 lines": {
    rule: walls.fileLength,
    bad: lines(501, "export {}"),
    good: lines(500, "export {}"),
  },
  "a test file of 601 lines": {
    rule: walls.fileLength,
    path: "test/store/log.test.ts",
    bad: lines(601, "export {}"),
    good: lines(600, "export {}"),
  },
  "a file of the store of 451 lines": {
    rule: walls.storeFileLength,
    path: "src/store/log/row.ts",
    bad: lines(451, "export {}"),
    good: lines(450, "export {}"),
  },
  "a function of 101 lines": {
    rule: walls.functionLength,
    bad: `function f() {\n${lines(99, "  f()")}}`,
    good: `function f() {\n${lines(98, "  f()")}}`,
  },
  "an arrow function of 101 lines": {
    rule: walls.functionLength,
    bad: `const f = () => {\n${lines(99, "  f()")}}`,
    good: `const f = () => {\n${lines(98, "  f()")}}`,
  },
  "entries packed on a line": {
    rule: walls.packing,
    bad: "const a = { ...{ b, c }, d }",
    good: "const a = { ...b, ...(c ? { d } : {}), ...e.map(f) }",
  },
  "attributes packed on a line": {
    rule: walls.packing,
    path: "ui/kit/field.tsx",
    bad: "const a = <B {...{ c, d }} />",
    good: "const a = <B c={c} {...d} />",
  },
  "four nested blocks": {
    rule: walls.nesting,
    bad: "for (;;) { if (a) { try { while (b) {} } catch {} } }",
    good: "for (;;) { if (a) { try { b(() => { if (c) {} }) } catch {} } else if (d) {} else {} }",
  },
  "any in a signature": {
    rule: walls.overriddenTypes,
    bad: "const f = (a: any) => a",
    good: "const any = (a: unknown) => ` as any`",
  },
  "a type assertion": {
    rule: walls.overriddenTypes,
    bad: "const a = b as string",
    good: 'import { c as d } from "e"\nconst a = ["SELECT b AS c"] as const\nexport { d as f }',
  },
  "a non-null assertion": {
    rule: walls.overriddenTypes,
    bad: "const a = b!.c",
    good: "const a = !b.c && b !== c",
  },
  "an assertion without a reason where it is allowed": {
    rule: walls.overriddenTypes,
    path: "src/store/log/row.ts",
    bad: "const a = b as string",
    good: "// SQLite answers what the column was declared with.\nconst a = b as string",
  },
  "a class of one's own": {
    rule: walls.namedClasses,
    bad: "export class ProjectService {}",
    good: "export class Fault extends Error {}",
  },
  "an anonymous class": { rule: walls.namedClasses, bad: "const a = class {}", good: "a.class()" },
  "the time of the machine": {
    rule: words.bannedCalls,
    bad: "const now = Date.now()",
    good: "const now = cx.clock.now() // not Date.now()",
  },
  "the time of the machine as a value": {
    rule: words.bannedCalls,
    bad: "const clock = { now: Date.now }",
    good: 'const clock = { now: "Date.now" }',
  },
  "a date without an argument": {
    rule: words.bannedCalls,
    bad: "const now = new Date()",
    good: "const then = new Date(at)",
  },
  "a random number": { rule: words.bannedCalls, bad: "Math.random()", good: "Math.round(1.5)" },
  "a random id": {
    rule: words.bannedCalls,
    bad: "globalThis.crypto.randomUUID()",
    good: "crypto.subtle",
  },
  "a call to the network": {
    rule: words.bannedCalls,
    bad: "await fetch(url)",
    good: "const app = { fetch: handle }\napp.fetch(request)",
  },
  "a timer": {
    rule: words.bannedCalls,
    bad: "const later = setTimeout",
    good: "cx.clock.after(5, f)",
  },
  "a timer in a test": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: "await new Promise((done) => setTimeout(done, 50))",
    good: `await until(() => a)
const text = "setTimeout(done, 50)"
socket.setTimeout(50, () => socket.destroy())
// timer: this runs inside a page, where nothing can be imported
await new Promise((done) => setTimeout(done, 50))`,
  },
  "an interval in a test": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: "const ticking = globalThis.setInterval(tick, 5)",
    good: "const setting = { setInterval: 5, resetInterval: 5 }",
  },
  "a sleep in a test": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: "// timer: later\nwhile (!a) await Bun.sleep(20)",
    good: 'await pause(20, "nothing may happen, and nothing signals that it did not")',
  },
  "a wait that gives up after a second": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: "await vi.waitFor(() => expect(count()).toBe(1))",
    good: "await until(() => count() === 1)",
  },
  "timers by import": {
    rule: words.durations,
    path: "test/support/thing.ts",
    bad: 'import { setTimeout as sleep } from "node:timers/promises"',
    good: 'import { sleep } from "./timers.ts"',
  },
  "a pause for no reason": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: 'await pause(20, "")',
    good: "await pause(20, reason)",
  },
  "a pause without a reason": {
    rule: words.durations,
    path: "test/room/thing.test.ts",
    bad: "await pause(20)",
    good: "const sharing = { sleep: pause }",
  },
  "a limit that ends a test before its waits": {
    rule: words.limits,
    path: "test/room/thing.test.ts",
    bad: 'test("a", async () => {}, 180_000)',
    good: `test("a", async () => {}, 180_001)
test("b", () => f(60_000))
expect(a, { timeout: 60_000 }).toBe(b)`,
  },
  "a limit of a hook": {
    rule: words.limits,
    path: "test/room/thing.test.ts",
    bad: "beforeAll(open, 60_000)",
    good: "beforeAll(open)",
  },
  "a limit among the options of a table": {
    rule: words.limits,
    path: "test/room/thing.test.ts",
    bad: 'test.each([[() => 1]])("%s", { timeout: 20_000 }, f)',
    good: 'test.each([1_000, 2_000])("%i", { timeout: 240_000 }, f)',
  },
  "the environment": {
    rule: words.bannedCalls,
    bad: "const home = process.env.HOME",
    good: "process.exit(1)",
  },
  "work left to do": {
    rule: words.unfinishedWork,
    bad: "// TODO: later",
    good: 'const a = "TODO" // A todo.',
  },
  "a skipped test": {
    rule: words.unfinishedWork,
    bad: 'describe.skip("a", f)',
    good: 'describe.runIf(needs("gcc"))("a", f)\nrows.skip(5)',
  },
  "a lonely test": {
    rule: words.unfinishedWork,
    bad: 'test.only.each([1])("a", f)',
    good: "only(f)",
  },
  "a path of one machine": {
    rule: words.machineTraces,
    bad: `const data = "/${"home"}/ada/data"`,
    good: 'const path = "/projects/home/work"',
  },
  "a registry's host": {
    rule: words.machineTraces,
    bad: `const host = "https://${"registry"}.example.org"`,
    good: "registry.getMessage(name)",
  },
  "a compiler told to look away": {
    rule: words.waivers,
    bad: "// @ts-expect-error",
    good: "const header = `\n// @ts-nocheck\n`",
  },
  "a wall opened by a comment": {
    rule: words.waivers,
    bad: "// biome-ignore lint/suspicious/noExplicitAny: because",
    good: "// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it is for",
  },
  "a library before its polyfill": {
    rule: polyfillOrder,
    path: "test/room/thing.test.ts",
    bad: 'import { Pem } from "@peculiar/x509"\nimport "reflect-metadata"',
    good: 'import "reflect-metadata"\nimport { Pem } from "@peculiar/x509"',
  },
  "a library after none, where only its types are used": {
    rule: polyfillOrder,
    bad: 'import { type Extension, Pem } from "@peculiar/x509"',
    good: 'import type { Extension } from "@peculiar/x509"',
  },
  "the kernel importing a module": {
    rule: imports,
    path: "src/kernel/id.ts",
    bad: 'import { openStore } from "../store/store.ts"',
    good: 'import type { Clock } from "./clock.ts"\nimport { z } from "zod"',
  },
  "the kernel doing I/O by a library": {
    rule: kernel.kernel,
    path: "src/kernel/id.ts",
    bad: 'import { readFileSync } from "node:fs"',
    good: 'import { createHash } from "node:crypto"',
  },
  "the kernel opening a socket": {
    rule: kernel.kernel,
    path: "src/kernel/net/address.ts",
    bad: 'import { connect, isIP } from "node:net"',
    good: 'import { BlockList, isIP } from "node:net"',
  },
  "the kernel loading a library later": {
    rule: kernel.kernel,
    path: "src/kernel/id.ts",
    bad: 'export const load = () => import("node:crypto")',
    good: 'import { createHash } from "node:crypto"',
  },
  "the kernel using the runtime": {
    rule: kernel.kernel,
    path: "src/kernel/id.ts",
    bad: 'const text = Bun.file("x")',
    good: "const text = { process: 1 }",
  },
  "an identifier of a protocol in the kernel": {
    rule: kernel.kernel,
    path: "src/kernel/text/name.ts",
    bad: "export const isRedirectUri = 1",
    good: "export const isName = 1",
  },
  "the name of a data key's purpose anywhere else in the kernel": {
    rule: kernel.kernel,
    path: "src/kernel/crypto/xaes.ts",
    bad: "export const cookie = 1",
    good: "export const token = 1",
  },
  "code in a port": {
    rule: kernel.ports,
    path: "src/kernel/port/mail.ts",
    bad: "export const isMail = () => true",
    good: 'export type SendMail = () => boolean\nexport const causes = ["unknown_name"] as const',
  },
  "the API importing a module": {
    rule: imports,
    path: "src/api/dispatch.ts",
    bad: 'import { findProject } from "../domain/project/index.ts"',
    good: 'import { Fault } from "../kernel/fault.ts"',
  },
  "a layer of the login importing a higher one": {
    rule: loginLayerRule,
    path: "src/login/session.ts",
    bad: 'import { trouble } from "./trouble.ts"',
    good: 'import { nextStep } from "./flow.ts"\nimport { user } from "../domain/user/index.ts"',
  },
  "a type of a higher layer of the login": {
    rule: loginLayerRule,
    path: "src/login/policy/factor-requirement.ts",
    bad: 'import type { LoginContext } from "../context.ts"',
    good: 'import type { Need } from "../flow.ts"\nimport { home } from "./registration.ts"',
  },
  "a screen importing one of another kind": {
    rule: loginLayerRule,
    path: "src/login/screen/factor/passkey.ts",
    bad: 'import { loginNameScreen } from "../password/login-name.ts"',
    good: 'import { attempt } from "./attempt.ts"\nimport { doneHref } from "../../part/done.ts"',
  },
  "a flow that reads": {
    rule: loginLayerRule,
    path: "src/login/flow.ts",
    bad: 'import type { Cx } from "../store/index.ts"',
    good: 'import type { Requested } from "../domain/grant/index.ts"',
  },
  "a lazy import against the list": {
    rule: imports,
    path: "src/store/view.ts",
    bad: 'const api = await import("../api/dispatch.ts")',
    good: 'const fault = await import("../kernel/fault.ts")',
  },
  "a type imported against the list": {
    rule: imports,
    path: "src/store/view.ts",
    bad: 'type A = import("../api/method.ts").A',
    good: 'type A = import("../kernel/page.ts").Page',
  },
  "a re-export against the list": {
    rule: imports,
    path: "ui/kit/button.tsx",
    bad: 'export * from "../login/page.tsx"',
    good: 'export { Card } from "./card.tsx"',
  },
  "a module entered beside its door": {
    rule: imports,
    path: "src/server/index.ts",
    bad: 'import { addProject } from "../domain/project/commands.ts"',
    good: 'import { addProject } from "../domain/project/index.ts"',
  },
  "what pages are made of entered beside its door": {
    rule: imports,
    path: "ui/console/group/group-page.tsx",
    bad: 'import { call } from "../shell/call.ts"',
    good: 'import { call } from "../shell/index.ts"\nimport { groupForm } from "./group-form.tsx"',
  },
  "the shell importing a page": {
    rule: layering.layers,
    path: "ui/console/shell/frame.tsx",
    bad: 'import { Navigation } from "../app/navigation.tsx"',
    good: 'import { Link } from "./link.tsx"\nimport { Button } from "../../kit/index.ts"',
  },
  "a page importing one above it": {
    rule: layering.layers,
    path: "ui/console/user/user-page.tsx",
    bad: 'const Grants = lazy(() => import("../project/grants.tsx"))',
    good: 'import { Messages } from "../message/messages.tsx"\nimport "../shell/index.ts"',
  },
  "a type of a page above": {
    rule: layering.layers,
    path: "ui/console/refused-request/refused-list.tsx",
    bad: 'import type { OidcPart } from "../application/update-application.ts"',
    good: 'import { Time } from "../list/index.ts"',
  },
  "an import of the entry point of the console": {
    rule: layering.layers,
    path: "ui/console/app/router.tsx",
    bad: 'import "../main.tsx"',
    good: 'import { ProjectsPage } from "../project/projects-page.tsx"',
  },
  "a field that is read by reflection": {
    rule: layering.typedFields,
    path: "ui/console/policy/effective-policy.ts",
    bad: 'const a = Reflect.get(policy, "isDefault")',
    good: 'const a = policy.isDefault\nconst b = "Reflect"\nreflect(schema, message)',
  },
  "a field that is written by reflection": {
    rule: layering.typedFields,
    path: "ui/kit/branding.ts",
    bad: "const { set } = Reflect",
    good: "values[name] = value",
  },
  "generated code outside the bindings": {
    rule: imports,
    path: "src/domain/project/commands.ts",
    bad: 'import { Project } from "../../gen/core/project/v2/project_pb.ts"',
    good: 'import { project } from "./model.ts"',
  },
  "generated code in a view": {
    rule: imports,
    path: "src/domain/project/view.ts",
    bad: 'import { Project } from "../../gen/core/project/v2/project_pb.ts"',
    good: 'import { project } from "./model.ts"',
  },
  "a library outside its place": {
    rule: libraries,
    path: "src/domain/project/commands.ts",
    bad: 'import { SignJWT } from "jose"',
    good: 'import { create } from "@bufbuild/protobuf/wkt"\nimport { join } from "node:path"',
  },
  "a library that nobody listed": {
    rule: libraries,
    path: "ui/console/main.tsx",
    bad: 'import moment from "moment"',
    good: 'import { createRoot } from "react-dom/client"',
  },
  "the database outside the store": {
    rule: libraries,
    path: "src/domain/project/view.ts",
    bad: 'import { Database } from "bun:sqlite"',
    good: 'import { view } from "../../store/index.ts"',
  },
  "anyone importing the server": {
    rule: imports,
    path: "src/domain/project/commands.ts",
    bad: 'import { serve } from "../../server/index.ts"',
    good: 'import { Fault } from "../../kernel/fault.ts"',
  },
  "a form of its own in the console": {
    rule: words.forms,
    path: "ui/console/user/user-page.tsx",
    bad: "const a = <form onSubmit={b} />",
    good: "const a = <Fields form={b} />\nconst c = <p>{'<form>'}</p>",
  },
  "a part of an error's words": {
    rule: words.errorPatterns,
    path: "ui/console/user/user-page.ts",
    bad: 'const a = failure.message.includes("exists")',
    good: 'const a = refusal.id.startsWith("user.")\nconst b = { message: error.rawMessage }',
  },
  "a pattern over an error's words": {
    rule: words.errorPatterns,
    path: "ui/console/user/user-page.ts",
    bad: "const a = /exists/.test(String(refusal.message))",
    good: "const a = /^[a-z]+$/.test(name)",
  },
  "a comparison with an error's words": {
    rule: words.errorPatterns,
    path: "ui/console/user/user-page.ts",
    bad: 'const a = error.rawMessage === "gone"',
    good: "const a = error.code === Code.NotFound",
  },
  "a pattern that fits anything": {
    rule: words.fittingPatterns,
    path: "test/room/thing.test.ts",
    bad: "expect(a).toMatchObject([{ message: /gone/ }])",
    good: "expect(a).toMatchObject([{ message: expect.stringMatching(/gone/) }])\nf({ a: /b/ })",
  },
  "a comment with an odd word": {
    rule: prose.commentWordings,
    bad: "// Whoever asks.",
    good: 'const whoever = "whoever" // Every caller; `whoever` is a name.',
  },
  "a comment with an odd wording on two lines": {
    rule: prose.commentWordings,
    bad: "/**\n * The token stays\n * good.\n */",
    good: "/** The token stays */\nconst good = 1",
  },
  "a comment in which a program tells something": {
    rule: prose.commentWordings,
    path: "test/room/thing.test.ts",
    bad: "// The server tells the client that it ended.",
    good: "// Two requests can be told apart.",
  },
  "a comment in which a program knows something": {
    rule: prose.commentWordings,
    bad: "f() // It knows the name.",
    good: "f() // The name is known.",
  },
  "an error with an odd word": {
    rule: prose.messageWordings,
    bad: 'throw new Fault("aborted", "room.full", "this room refuses guests")',
    good: 'throw new Fault("aborted", "room.refused", "this room rejects guests")',
  },
  "an error of a helper with an odd word in a template": {
    rule: prose.messageWordings,
    path: "test/room/thing.ts",
    bad: "fieldError(id, { description: `this is no longer good: ` + a })",
    good: "const a = `nobody called`",
  },
  "an odd wording in two parts of a text": {
    rule: prose.messageWordings,
    bad: 'const text = "the token is " +\n  "good now"',
    good: 'const text = ["the token is ", "good now"]',
  },
  "a help text with an odd word": {
    rule: prose.messageWordings,
    bad: 'const flag = { help: "Print the name of everybody" }',
    good: 'const flag = { help: "Print the name of each user" }',
  },
}

describe("each rule reports a violation once, and accepts valid code", () => {
  test.each(Object.entries(examples))(
    "%s",
    async (_, { rule, path = "src/room/thing.ts", ...text }) => {
      const [bad] = await parse(new Map([[path, text.bad]]))
      const [good] = await parse(new Map([[path, text.good]]))
      expect(bad && rule(bad)).toHaveLength(1)
      expect(good && rule(good)).toEqual([])
    },
  )
})

test("reports odd words in the comments of .proto files, and only there", () => {
  const text = 'syntax = "a whoever";\n// Whoever asks.\nmessage Whoever {}\n'
  expect(prose.protoWordings("proto/core/a.proto", text)).toMatchObject([{ line: 2 }])
})

test("only the wait helpers can use timers without a reason", async () => {
  const [source] = await parse(new Map([["test/support/wait.ts", "await Bun.sleep(20)"]]))
  expect(source && words.durations(source)).toEqual([])
})

test.each(["src/login/later.ts", "src/login/screen/later.ts", "src/login/later/a.ts"])(
  "%s has no layer of the login",
  async (path) => {
    const [source] = await parse(new Map([[path, "export {}"]]))
    expect(source && loginLayerRule(source)).toHaveLength(1)
  },
)

test("a finding contains the line", async () => {
  const [source] = await parse(new Map([["src/room/thing.ts", "\n\nexport const a = b!\n"]]))
  expect(source && walls.overriddenTypes(source)[0]?.line).toBe(3)
})

test.each([
  "src/domain/project/v2.ts",
  "src/domain/project/v2-role.ts",
  "src/domain/key/v3alpha.ts",
])("generated code can be imported by %s", async (path) => {
  const text = 'import { Project } from "../../gen/core/project/v2/project_pb.ts"'
  const [source] = await parse(new Map([[path, text]]))
  expect(source && imports(source)).toEqual([])
})

test.each(["src/domain/project/util.ts", "src/helpers/a.ts", "src/store/row-manager.ts"])(
  "%s is too vague",
  async (path) => {
    const [source] = await parse(new Map([[path, "export {}"]]))
    expect(source && walls.fileName(source)).toHaveLength(1)
  },
)
