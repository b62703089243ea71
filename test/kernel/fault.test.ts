// What logs contain about an error: never its class name, which the build has minified.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { errorText, Fault, stackText } from "../../src/kernel/fault.ts"

/** As jose and others name their errors: after the class, here a minified one. */
const minifiedError = (message: string) => Object.assign(new Error(message), { name: "Ab" })

test("a reason is only the message", () => {
  expect(errorText(minifiedError("the key is another one"))).toBe("the key is another one")
  expect(errorText(new Fault("internal", "x.y", "it broke"))).toBe("it broke")
  expect(errorText("plain")).toBe("plain")
  expect(errorText(undefined)).toBe("undefined")
})

test("a trace adds the location, without the class", () => {
  const [first, ...frames] = stackText(minifiedError("the key is another one")).split("\n")
  expect(first).toBe("the key is another one")
  expect(frames[0]).toContain("fault.test.ts")
  expect(stackText(minifiedError("two\nlines"))).toMatch(/^two\nlines\n\s+at /)
  expect(stackText(7)).toBe("7")
})

/** `${cause}`, `String(cause)`, and a stack start with the class name. */
const errorFormatting =
  /String\((?:cause|error|failure)\)|\$\{(?:cause|failure)\}|(?:cause|error)\.stack/
/** Files in which the value is not an error, or is not logged. */
const exceptions = [
  "boot/doctor/address.ts",
  "boot/doctor/deep/clock.ts",
  "boot/doctor/deep/sign-in.ts",
  "kernel/fault.ts",
  "notify/smtp.ts",
]

test("no other source formats errors itself", () => {
  const src = join(import.meta.dirname, "../../src")
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && !name.startsWith("gen/"))
    .filter((name) => errorFormatting.test(readFileSync(join(src, name), "utf8")))
  expect(found.sort()).toEqual(exceptions)
})
