import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { barePaths } from "../../src/api/encoding/bare-paths.ts"
import { tableOf } from "./table.ts"

const proto = join(import.meta.dirname, "../../proto")

test("every service in proto/ is served", () => {
  const written = readdirSync(proto, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_service.proto"))
    .flatMap((path) => {
      const text = readFileSync(join(proto, path), "utf8")
      const scope = /^package ([\w.]+);/m.exec(text)?.[1]
      return [...text.matchAll(/^service (\w+)/gm)].map(([, name]) => `${scope}.${name}`)
    })
  expect(allServices.map(({ typeName }) => typeName).sort()).toEqual(written.sort())
})

test("every method is unary, as required by the encodings", () => {
  const streaming = allServices.flatMap(({ methods }) =>
    methods.filter(({ methodKind }) => methodKind !== "unary"),
  )
  expect(streaming.map(String)).toEqual([])
})

test("the bare paths are those of the golden list", () => {
  const golden = tableOf("test/contract/bare-paths.tsv")
  const served = barePaths.map(({ verb, path, method }) => ({ verb, path, rpc: method }))
  expect(served).toEqual(golden.map(({ verb, path, rpc }) => ({ verb, path, rpc })))
})

test("only the listed Google files are vendored", () => {
  const vendored = readdirSync(join(proto, "google/api")).sort()
  expect(vendored).toEqual(["annotations.proto", "http.proto"])
  expect(existsSync(join(proto, "google/protobuf"))).toBe(false)
})
