// The documents of both APIs, as independent linters and generators read them.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromJson } from "@bufbuild/protobuf"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Validator } from "@seriousme/openapi-schema-validator"
import { generate } from "openapi-typescript-codegen"
import { describe, expect, test } from "vitest"
import { checkRules } from "../../src/api/input/rules.ts"
import { checkValues } from "../../src/api/input/values.ts"
import { connectOpenApiOf, isOfVersion2 } from "../../src/api/openapi/connect-document.ts"
import { openApiOf } from "../../src/api/openapi/document.ts"
import { ruleOf } from "../../src/api/openapi/failure.ts"
import { worldOf } from "../api/world.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const { entries } = worldOf()
const rest: any = await openApiOf(entries)
const connect: any = JSON.parse(JSON.stringify(connectOpenApiOf(entries)))
const documents = [
  ["REST", rest],
  ["Connect", connect],
] as const

type DescribedOperation = { readonly path: string; readonly verb: string; readonly operation: any }

const operationsIn = ({ paths }: any): readonly DescribedOperation[] =>
  Object.entries<object>(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
  )

const methods = new Map(
  entries.map(({ method }) => [`${method.parent.name}_${method.name}`, method] as const),
)

const jsonOf = (body: any) => body?.content["application/json"]

describe.each(documents)("%s", (_, document) => {
  const operations = operationsIn(document)

  test("a validator accepts the document", async () => {
    expect(await new Validator().validate(document)).toEqual({ valid: true })
  })

  test("every operation is complete", () => {
    const tags = new Set(document.tags.map(({ name }: { name: string }) => name))
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(ids.length)
    for (const { operation } of operations) {
      const { operationId, summary, description, responses, requestBody, security } = operation
      expect([summary, description].every(Boolean), operationId).toBe(true)
      expect(
        operation.tags.every((tag: string) => tags.has(tag)),
        operationId,
      ).toBe(true)
      const answers = [responses[200], responses[400], ...(security ? [] : [responses[401]])]
      for (const body of [...answers, requestBody].map(jsonOf).filter(Boolean))
        expect(body.example, operationId).toBeDefined()
      expect(jsonOf(responses[400]), operationId).toBeDefined()
      if (!security) expect(jsonOf(responses[401]), operationId).toBeDefined()
      expect(security === undefined, operationId).toBe(!publicIds.has(operationId))
    }
  })

  test("Redocly's recommended rules report only paths that the interface requires", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const source = JSON.stringify(document)
    const problems = await lintFromString({ source, absoluteRef: "openapi.json", config })
    const told = problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)
    const isDemanded = (problem: string) => /^no-ambiguous-paths: .*\/(email|sms)\//.test(problem)
    expect(told.filter((problem) => !isDemanded(problem))).toEqual([])
    expect(told.length).toBe(document === rest ? 4 : 0)
  })

  test("no two schema names differ only in case", () => {
    const names = Object.keys(document.components.schemas)
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
  })

  test("the server can parse every example of requests and responses", () => {
    for (const { path, verb, operation } of operations) {
      const method = methods.get(operation.operationId)
      if (!method) throw new Error(`${operation.operationId} is no operation`)
      const answer = jsonOf(operation.responses[200])
      if (answer) fromJson(method.output, answer.example)
      const sent = jsonOf(operation.requestBody)
      if (sent === undefined || !sent.schema.$ref.endsWith(`/${method.input.name}`)) continue
      const inPath = Object.fromEntries(
        (operation.parameters ?? [])
          .filter((each: any) => each.in === "path")
          .map((each: any) => [each.name, each.example]),
      )
      const request = fromJson(method.input, { ...sent.example, ...inPath })
      expect(() => checkValues(method.input, request), `${verb} ${path}`).not.toThrow()
      expect(() => checkRules(method.input, request), `${verb} ${path}`).not.toThrow()
    }
  })
})

const publicIds = new Set(
  [...methods].flatMap(([id, method]) => (ruleOf(method).public ? [id] : [])),
)

test("every operation of version 2 is in the document of its Connect form", () => {
  const expected = entries.flatMap(({ method, name }) => (isOfVersion2(method) ? [`/${name}`] : []))
  expect(Object.keys(connect.paths).toSorted()).toEqual(expected.toSorted())
  expect(expected.length).toBeGreaterThan(200)
})

test("no schema has a oneof whose properties generators would drop", () => {
  for (const { components } of [rest, connect]) {
    for (const [name, { properties, oneOf, anyOf, allOf }] of Object.entries<any>(
      components.schemas,
    ))
      expect([properties && (oneOf ?? anyOf ?? allOf), name]).toEqual([undefined, name])
  }
  const { schemas } = rest.components
  expect(schemas["core.admin.v1.AddSAMLProviderRequest"]).toMatchObject({
    required: ["name"],
    description: "Requires exactly one of metadataXml, metadataUrl.",
  })
  expect(schemas["core.admin.v1.UpdateSAMLProviderRequest"].description).toBe(
    "Without updateMask, these are required: name, exactly one of metadataXml, metadataUrl.",
  )
})

test("an example of an error matches the server's response", () => {
  const { responses } = connect.paths["/core.project.v2.ProjectService/CreateProjectGrant"].post
  expect(jsonOf(responses[400]).example).toMatchObject({
    code: "invalid_argument",
    message: "project_id is required (request.id_missing)",
    details: [{ type: "core.v1.ErrorDetail" }, { type: "google.rpc.BadRequest" }],
  })
  expect(jsonOf(rest.paths["/actions/{id}"].delete.responses[404]).example).toMatchObject({
    code: 5,
    message: expect.stringContaining("(action.missing)"),
  })
})

/** A request with mandatory fields: its schema, its example, and those fields. */
type Sample = { readonly name: string; readonly example: object; readonly required: string[] }

function samplesOf(document: any, count: number): readonly Sample[] {
  const all = operationsIn(document).flatMap(({ operation }): Sample[] => {
    const sent = jsonOf(operation.requestBody)
    const name = sent?.schema.$ref?.split("/").at(-1)
    const required = document.components.schemas[name]?.required ?? []
    return required.length > 0 ? [{ name, example: sent.example, required }] : []
  })
  const step = Math.floor(all.length / count)
  return all.filter((_, at) => at % step === 0).slice(0, count)
}

/** Accepts the example, and rejects it without each of its mandatory fields. */
function typeCheckOf({ name, example, required }: Sample, at: number): string {
  const type = name.replace(/\W/g, "_")
  const constant = (fields: readonly (readonly [string, unknown])[], suffix: string): string => {
    const value = JSON.stringify(Object.fromEntries(fields))
    return `export const ${type}${at}${suffix}: Api.${type} = ${value}`
  }
  const all = Object.entries(example)
  const without = required.map((field) => {
    const others = all.filter(([key]) => key !== field)
    return `// @ts-expect-error ${field} is missing\n${constant(others, `_${field}`)}`
  })
  return [constant(all, ""), ...without].join("\n")
}

test.each(documents)(
  "%s: a generated client compiles, and its types reject what the server rejects",
  async (_, document) => {
    const folder = temporaryFolder()
    const output = join(folder.path, "client")
    await generate({ input: document, output, useOptions: true, useUnionTypes: true })
    const samples = samplesOf(document, 25)
    expect(samples).toHaveLength(25)
    const uses = samples.map(typeCheckOf).join("\n")
    writeFileSync(join(folder.path, "use.ts"), `import type * as Api from "./client"\n${uses}\n`)
    const options = {
      strict: true,
      noEmit: true,
      target: "esnext",
      lib: ["esnext", "dom"],
      types: [],
      module: "esnext",
      moduleResolution: "bundler",
    }
    const config = { compilerOptions: options, include: ["."] }
    writeFileSync(join(folder.path, "tsconfig.json"), JSON.stringify(config))
    const compiler = join(import.meta.dirname, "../../node_modules/.bin/tsc")
    const child = Bun.spawn([compiler, "-p", folder.path], { stdout: "pipe" })
    const told = await new Response(child.stdout).text()
    expect([told, await child.exited]).toEqual(["", 0])
    expect(readFileSync(join(output, "index.ts"), "utf8")).toContain("ApiError")
    folder.remove()
  },
)
