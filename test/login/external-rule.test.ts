// Which account a provider's user gets: the decision alone, as a table.
import { expect, test } from "vitest"
import type { Options } from "../../src/domain/idp/index.ts"
import { type Candidate, decide, type RuleInput } from "../../src/login/screen/external/rule.ts"

const allOptions: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
}
const noOptions: Options = {
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
const namedCandidate: Candidate = { ...ada, userId: "ada2", by: "username" }
const linkOrCreate = { kind: "ask", mayLink: true, mayCreate: true } as const

const rows: readonly (readonly [string, Partial<RuleInput>, ReturnType<typeof decide>])[] = [
  ["is linked", { linkedUser: "ada" }, { kind: "sign in", userId: "ada" }],
  [
    "is linked, whatever else is allowed",
    { linkedUser: "ada", options: noOptions, candidates: [namedCandidate] },
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
    linkOrCreate,
  ],
  [
    "the provider is not trusted for addresses",
    { candidates: [ada], identity: { ...verified, isEmailTrusted: false } },
    linkOrCreate,
  ],
  [
    "the address is not verified here",
    { candidates: [{ ...ada, emailVerified: false }] },
    linkOrCreate,
  ],
  ["two have the address", { candidates: [ada, { ...ada, userId: "eve" }] }, linkOrCreate],
  [
    "one of two has not verified it",
    { candidates: [ada, { ...ada, userId: "eve", emailVerified: false }] },
    linkOrCreate,
  ],
  ["it is an administrator's", { candidates: [{ ...ada, isAdministrator: true }] }, linkOrCreate],
  [
    "linking unasked is off",
    { options: { ...allOptions, autoLinking: "off" }, candidates: [ada] },
    linkOrCreate,
  ],
  [
    "linking is off",
    { options: { ...allOptions, isLinkingAllowed: false }, candidates: [ada] },
    { kind: "ask", mayLink: false, mayCreate: true },
  ],
  ["a login name proves nothing", { candidates: [namedCandidate] }, linkOrCreate],
  [
    "a login name proves nothing, also where it is looked for",
    { options: { ...allOptions, autoLinking: "username" }, candidates: [namedCandidate] },
    linkOrCreate,
  ],
  [
    "an address doesn't count where names do",
    { options: { ...allOptions, autoLinking: "username" }, candidates: [ada] },
    linkOrCreate,
  ],
  ["is new", {}, { kind: "create" }],
  ["is new, and says too little", { identity: { ...verified, isComplete: false } }, linkOrCreate],
  ["is new, and is asked", { options: { ...allOptions, isAutoCreation: false } }, linkOrCreate],
  [
    "is new, and nobody new may come",
    { options: { ...allOptions, isCreationAllowed: false } },
    { kind: "ask", mayLink: true, mayCreate: false },
  ],
  ["nothing is allowed", { options: noOptions, candidates: [ada] }, { kind: "refuse" }],
]

test.each(rows)("a user who %s", (_, changes, verdict) => {
  expect(decide({ options: allOptions, identity: verified, candidates: [], ...changes })).toEqual(
    verdict,
  )
})
