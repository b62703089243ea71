// What logs say of a failure: never the name of its class, which the build has shortened.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { Fault, reasonText, traceText } from "../../src/kernel/fault.ts"

/** As jose and others name their errors: after the class, here of a build. */
const named = (message: string) => Object.assign(new Error(message), { name: "Ab" })

test("a reason is the sentence alone", () => {
  expect(reasonText(named("the key is another one"))).toBe("the key is another one")
  expect(reasonText(new Fault("internal", "x.y", "it broke"))).toBe("it broke")
  expect(reasonText("plain")).toBe("plain")
  expect(reasonText(undefined)).toBe("undefined")
})

test("a trace adds where it happened, without the class", () => {
  const [first, ...frames] = traceText(named("the key is another one")).split("\n")
  expect(first).toBe("the key is another one")
  expect(frames[0]).toContain("fault.test.ts")
  expect(traceText(named("two\nlines"))).toMatch(/^two\nlines\n\s+at /)
  expect(traceText(7)).toBe("7")
})

/** `${cause}` and `String(cause)` begin with the name of the class; so does a stack. */
const spelled = /String\((?:cause|error|failure)\)|\$\{(?:cause|failure)\}|(?:cause|error)\.stack/
/** Of what is no error, and where nothing of it is logged. */
const others = [
  "boot/doctor/address.ts",
  "boot/doctor/deep/clock.ts",
  "boot/doctor/deep/sign-in.ts",
  "kernel/fault.ts",
  "notify/smtp.ts",
]

test("nothing else in the source puts a failure into words", () => {
  const src = join(import.meta.dirname, "../../src")
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && !name.startsWith("gen/"))
    .filter((name) => spelled.test(readFileSync(join(src, name), "utf8")))
  expect(found.sort()).toEqual(others)
})
