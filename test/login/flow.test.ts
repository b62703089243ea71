import { describe, expect, test } from "vitest"
import { nextStep, type Present, type Step, type Wanted } from "../../src/login/index.ts"

const now = 1_000_000
const wanted: Wanted = { prompts: [], sessionId: "", created: now }
const ann: Present = { id: "s-ann", userId: "ann", authTime: now - 60_000 }
const bob: Present = { id: "s-bob", userId: "bob", authTime: now - 600_000 }
const done = (who: Present): Step => ({ kind: "done", sessionId: who.id })
const choose: Step = { kind: "choose" }
const password = (userId: string): Step => ({ kind: "password", userId })

type Row = readonly [string, Partial<Wanted>, readonly Present[], Step]
const rows: readonly Row[] = [
  ["nobody is signed in", {}, [], { kind: "login name" }],
  ["one person is signed in", {}, [ann], done(ann)],
  ["two are", {}, [ann, bob], { kind: "choose" }],
  ["prompt=login", { prompts: ["login"] }, [ann], password("ann")],
  ["prompt=login and two", { prompts: ["login"] }, [ann, bob], { kind: "choose" }],
  ["prompt=select_account", { prompts: ["select_account"] }, [ann], { kind: "choose" }],
  ["prompt=consent", { prompts: ["consent"] }, [ann], { kind: "choose" }],
  ["prompt=select_account, nobody", { prompts: ["select_account"] }, [], { kind: "login name" }],
  ["max_age not reached", { maxAge: 60 }, [ann], done(ann)],
  ["max_age passed", { maxAge: 59 }, [ann], password("ann")],
  ["max_age=0", { maxAge: 0 }, [ann], password("ann")],
  ["a hint names one of two", { hintedUser: "bob" }, [ann, bob], done(bob)],
  ["a hint names somebody who isn't here", { hintedUser: "cy" }, [ann], { kind: "login name" }],
  [
    "a hint names one who is too old",
    { hintedUser: "bob", maxAge: 9 },
    [ann, bob],
    password("bob"),
  ],
  ["a login_hint names one of two", { suggestedUser: "bob" }, [ann, bob], done(bob)],
  ["a login_hint names somebody else", { suggestedUser: "cy" }, [ann], { kind: "login name" }],
  ["consent, for whom a hint names", { prompts: ["consent"], hintedUser: "ann" }, [ann], choose],
  ["consent, and a login_hint", { prompts: ["consent"], suggestedUser: "ann" }, [ann], choose],
  ["a login_hint is nobody's", { suggestedUser: "" }, [ann], { kind: "login name" }],
  ["one of two was chosen", { sessionId: bob.id }, [ann, bob], done(bob)],
  ["the chosen one is too old", { sessionId: bob.id, maxAge: 100 }, [ann, bob], password("bob")],
  ["the chosen one has ended", { sessionId: "gone" }, [ann, bob], { kind: "choose" }],
  [
    "another than hinted signed in",
    { sessionId: ann.id, hintedUser: "bob" },
    [ann],
    { kind: "refuse" },
  ],
]

describe("nextStep", () => {
  test.each(rows)("%s", (_, changes, present, step) => {
    expect(nextStep({ ...wanted, ...changes }, present, now)).toEqual(step)
  })

  test("a sign-in for this very request satisfies prompt=login and every max_age", () => {
    const fresh = { ...ann, authTime: now + 5 }
    const strict: Wanted = { ...wanted, prompts: ["login"], maxAge: 0, sessionId: ann.id }
    expect(nextStep(strict, [fresh], now + 90_000)).toEqual(done(fresh))
  })
})
