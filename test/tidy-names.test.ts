// The rules for names of tidy.test.ts, each tested with names that violate it and with valid ones.
import { describe, expect, test } from "vitest"
import { functionNames, parameterNames, typeNames } from "./support/tidy-names.ts"
import { parse, type Rule } from "./support/tidy-source.ts"

async function report(rule: Rule, code: string) {
  const [source] = await parse(new Map([["src/room/thing.ts", code]]))
  if (!source) throw new Error("the code was not parsed")
  return rule(source)
}

const fillers =
  "Asked Given Wanted Told Said Named Found Known Kept Shown Lent Made Owed Meant Place Way Line " +
  "Lot Turn Standing Thing Happening Saying Wish Here Such About How What Who Whom Whose Why"

describe("a type is reported whose last word is", () => {
  test.each(fillers.split(" "))("%s", async (word) => {
    expect(await report(typeNames, `export type ${word} = string`)).toHaveLength(1)
    expect(await report(typeNames, `interface User${word} {}`)).toHaveLength(1)
    expect(await report(typeNames, `const f = <${word}>(a: ${word}) => a`)).toHaveLength(1)
    expect(await report(typeNames, `export type ${word}Request = string`)).toEqual([])
  })
})

test("a line of text is an exception", async () => {
  expect(await report(typeNames, "export type LogLine = string")).toEqual([])
  expect(await report(typeNames, "export type Deadline = number")).toEqual([])
})

describe("a parameter is reported that is named", () => {
  test.each(fillers.split(" ").filter((word) => word !== "Line"))("%s", async (word) => {
    const name = word.toLowerCase()
    expect(await report(parameterNames, `function f(${name}: string) {}`)).toHaveLength(1)
    expect(await report(parameterNames, `const f = (_${name}: string) => 1`)).toHaveLength(1)
    expect(await report(parameterNames, `type F = (${name}: string) => void`)).toHaveLength(1)
    expect(await report(parameterNames, `const f = (${name}Text: string) => 1`)).toEqual([])
  })

  test("nothing, because a property, a local name and a line of text can be", async () => {
    const code =
      "const f = ({ asked }: Call, line: string) => { const found = asked; return found }"
    expect(await report(parameterNames, code)).toEqual([])
  })
})

describe("a function is reported that is named", () => {
  test.each([
    "howLong",
    "what",
    "whoAsks",
    "whyNot",
    "wishFor",
    "letIn",
    "mustExist",
    "signInWay",
    "waitingPlace",
    "accountStanding",
    "refusalWhy",
    "isSessionGone",
    "daysLeft",
    "selfCheckHere",
    "callTargetsAbout",
    "lastThing",
    "userWho",
    "codeAsked",
    "roleWords",
    "shown",
    "gone",
    "told",
    "removed",
    "listed",
  ])("%s", async (name) => {
    expect(await report(functionNames, `export function ${name}() {}`)).toHaveLength(1)
    expect(await report(functionNames, `const ${name} = () => 1`)).toHaveLength(1)
  })
})

test.each([
  "requireProject",
  "findUser",
  "isWellKnown",
  "isShown",
  "notFoundError",
  "seed",
  "signIn",
  "splitWords",
  "letterOf",
  "whoamiRequest",
  "musteredUsers",
  "readBelow",
])("a function can be named %s", async (name) => {
  expect(await report(functionNames, `export function ${name}() {}`)).toEqual([])
})

test("a value and a function in a function can be named with a participle", async () => {
  const code = "const removed = 1\nfunction f() { const shown = () => removed }"
  expect(await report(functionNames, code)).toEqual([])
})
