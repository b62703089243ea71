// Whose account somebody gets who comes from a provider: the rule alone, as a table.
import { expect, test } from "vitest"
import type { Options } from "../../src/domain/idp/index.ts"
import { type Candidate, type Facts, verdictOn } from "../../src/login/screen/external/rule.ts"

const all: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
}
const nothing: Options = {
  isLinkingAllowed: false,
  isCreationAllowed: false,
  isAutoCreation: false,
  isAutoUpdate: false,
  autoLinking: "off",
}
const verified = {
  email: "ada@example.com",
  emailVerified: true,
  isEmailTrusted: true,
  isComplete: true,
}
const ada: Candidate = {
  userId: "ada",
  by: "email",
  emailVerified: true,
  isAdministrator: false,
}
const named: Candidate = { ...ada, userId: "ada2", by: "username" }
const both = { kind: "ask", mayLink: true, mayCreate: true } as const

const rows: readonly (readonly [string, Partial<Facts>, ReturnType<typeof verdictOn>])[] = [
  ["is linked", { linkedUser: "ada" }, { kind: "sign in", userId: "ada" }],
  [
    "is linked, whatever else is allowed",
    { linkedUser: "ada", options: nothing, candidates: [named] },
    { kind: "sign in", userId: "ada" },
  ],
  [
    "is linked, and has another address there, which is somebody's here",
    { linkedUser: "ada", candidates: [{ ...ada, userId: "eve" }] },
    { kind: "sign in", userId: "ada" },
  ],
  [
    "is linked, and says too little",
    { linkedUser: "ada", identity: { ...verified, email: "", isComplete: false } },
    { kind: "sign in", userId: "ada" },
  ],
  ["both verified the address", { candidates: [ada] }, { kind: "link", userId: "ada" }],
  [
    "the provider has not verified the address",
    { candidates: [ada], identity: { ...verified, emailVerified: false } },
    both,
  ],
  [
    "the provider is not trusted for addresses",
    { candidates: [ada], identity: { ...verified, isEmailTrusted: false } },
    both,
  ],
  ["the address is not verified here", { candidates: [{ ...ada, emailVerified: false }] }, both],
  ["two have the address", { candidates: [ada, { ...ada, userId: "eve" }] }, both],
  [
    "one of two has not verified it",
    { candidates: [ada, { ...ada, userId: "eve", emailVerified: false }] },
    both,
  ],
  ["it is an administrator's", { candidates: [{ ...ada, isAdministrator: true }] }, both],
  ["linking unasked is off", { options: { ...all, autoLinking: "off" }, candidates: [ada] }, both],
  [
    "linking is off",
    { options: { ...all, isLinkingAllowed: false }, candidates: [ada] },
    { kind: "ask", mayLink: false, mayCreate: true },
  ],
  ["a login name proves nothing", { candidates: [named] }, both],
  [
    "a login name proves nothing, also where it is looked for",
    { options: { ...all, autoLinking: "username" }, candidates: [named] },
    both,
  ],
  [
    "an address doesn't count where names do",
    { options: { ...all, autoLinking: "username" }, candidates: [ada] },
    both,
  ],
  ["is new", {}, { kind: "create" }],
  ["is new, and says too little", { identity: { ...verified, isComplete: false } }, both],
  ["is new, and is asked", { options: { ...all, isAutoCreation: false } }, both],
  [
    "is new, and nobody new may come",
    { options: { ...all, isCreationAllowed: false } },
    { kind: "ask", mayLink: true, mayCreate: false },
  ],
  ["nothing is allowed", { options: nothing, candidates: [ada] }, { kind: "refuse" }],
]

test.each(rows)("who %s", (_, changes, verdict) => {
  expect(verdictOn({ options: all, identity: verified, candidates: [], ...changes })).toEqual(
    verdict,
  )
})
