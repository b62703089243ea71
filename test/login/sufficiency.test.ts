import { describe, expect, test } from "vitest"
import {
  type FactorRequirement,
  findMissing,
  type Requirement,
  type SessionFacts,
} from "../../src/login/flow.ts"

const now = 1_800_000_000_000
const minute = 60_000
const hour = 60 * minute
/** When the request started. */
const since = now - minute
/** After that, and an hour before. */
const [lately, before] = [now - 1000, now - hour]

const defaultRequirement: FactorRequirement = {
  factors: [],
  offered: [],
  isForced: false,
  isLocalOnly: false,
  isDue: false,
  secondLifetime: 64_800,
  multiLifetime: 43_200,
  firstLifetime: 864_000,
  externalLifetime: 864_000,
  hasPassword: false,
}
const withRequirement = (changes: Partial<FactorRequirement>) => ({
  need: { ...defaultRequirement, ...changes },
})
const login = { mustSignIn: true }
const maxAge = (maxAgeSeconds: number) => ({ maxAgeSeconds })

type Provided = { readonly at: number; readonly freshAt?: number }
/** A session from a provider's response, with or without a stated time. */
function providerSession(
  { at, freshAt }: Provided,
  checks: SessionFacts["checks"] = {},
): SessionFacts {
  const vouched = { idpId: "acme", idpOrg: "", ...(freshAt !== undefined && { freshAt }) }
  return {
    authTime: freshAt ?? at,
    checks: { intent: at, ...checks },
    userVerified: false,
    vouched,
  }
}
const passwordSession = (at: number): SessionFacts => ({
  authTime: at,
  checks: { password: at },
  userVerified: false,
})

const linkSession = (at: number): SessionFacts => ({
  authTime: at,
  checks: { magicLink: at },
  userVerified: false,
})

const signIn = { kind: "password" } as const
const localPassword = { kind: "password", isLocal: true } as const
const notFresh = { kind: "not fresh", idpId: "acme" } as const
const code = { kind: "factor", factors: ["otp"] } as const

type Row = readonly [string, SessionFacts, Partial<Requirement>, ReturnType<typeof findMissing>]
const rows: readonly Row[] = [
  ["nothing is required", providerSession({ at: before }), {}, undefined],
  [
    "the access rules keep them out",
    passwordSession(lately),
    { ...login, bar: "roles" },
    { kind: "barred", bar: "roles" },
  ],
  ["prompt=login, a password since", passwordSession(lately), login, undefined],
  ["prompt=login, a password before", passwordSession(before), login, signIn],
  ["max_age, a password within", passwordSession(before), maxAge(3600), undefined],
  ["max_age, a password before that", passwordSession(before), maxAge(3599), signIn],
  [
    "prompt=login, no provider asked yet",
    providerSession({ at: before, freshAt: before }),
    login,
    signIn,
  ],
  [
    "prompt=login, a stated sign-in since",
    providerSession({ at: lately, freshAt: lately }),
    login,
    undefined,
  ],
  [
    "prompt=login, stated by a clock a minute behind",
    providerSession({ at: lately, freshAt: since - minute + 1 }),
    login,
    undefined,
  ],
  [
    "prompt=login, stated more than a minute before",
    providerSession({ at: lately, freshAt: since - minute }),
    login,
    notFresh,
  ],
  [
    "the minute counts for no answer that the request has not led to",
    providerSession({ at: since - 1, freshAt: since - 1 }),
    login,
    signIn,
  ],
  [
    "max_age, no time stated, nothing here",
    providerSession({ at: lately }),
    maxAge(3600),
    notFresh,
  ],
  ["max_age, no time stated, before", providerSession({ at: before }), maxAge(36_000), signIn],
  [
    "prompt=login, no time, a password here",
    providerSession({ at: lately }),
    { ...login, ...withRequirement({ hasPassword: true }) },
    localPassword,
  ],
  [
    "prompt=login, no time, a code here",
    providerSession({ at: lately }),
    { ...login, ...withRequirement({ factors: ["otp"] }) },
    code,
  ],
  [
    "prompt=login, no time, and a code since",
    providerSession({ at: lately }, { totp: lately + 1 }),
    { ...login, ...withRequirement({ factors: ["otp"] }) },
    undefined,
  ],
  [
    "prompt=login, no time, and a code of before",
    providerSession({ at: lately }, { totp: before }),
    { ...login, ...withRequirement({ factors: ["otp"] }) },
    code,
  ],
  [
    "prompt=login, no time, and a password since",
    providerSession({ at: lately }, { password: lately + 1 }),
    { ...login, ...withRequirement({ hasPassword: true }) },
    undefined,
  ],
  [
    "where passwords let nobody in, their passkey",
    providerSession({ at: lately }),
    {
      ...login,
      ...withRequirement({
        hasPassword: true,
        passkeyAlone: { isThere: true, canBeMade: true, orLink: false },
      }),
    },
    { kind: "factor", factors: ["passkey"] },
  ],
  [
    "how long an answer may be used again goes by when it came",
    providerSession({ at: before, freshAt: now - 300 * hour }),
    withRequirement({ externalLifetime: 3600 }),
    undefined,
  ],
  [
    "who has just come by a provider may set up the factor that is forced",
    providerSession({ at: lately }),
    withRequirement({ isForced: true, offered: ["otp"] }),
    { kind: "set up", factors: ["otp"], isForced: true },
  ],
  ...[{ isForced: true }, { isForcedManager: true }].flatMap((forced): Row[] => {
    const [name] = Object.keys(forced)
    const codes = withRequirement({ ...forced, offered: ["otp_email"], hasPassword: true })
    return [
      [
        `${name}, by a link, and codes by email alone can be set up`,
        linkSession(lately),
        codes,
        signIn,
      ],
      [
        `${name}, by the password, and codes by email alone can be set up`,
        { ...passwordSession(lately), checks: { magicLink: lately - 1, password: lately } },
        codes,
        { kind: "set up", factors: ["otp_email"], isForced: true },
      ],
    ]
  }),
  [
    "a manager by a link who has no password, and codes by email alone can be set up",
    linkSession(lately),
    withRequirement({ isForcedManager: true, offered: ["otp_email"] }),
    undefined,
  ],
  [
    "by a link, and codes by email alone can be set up, which is not required",
    linkSession(lately),
    withRequirement({ isDue: true, offered: ["otp_email"], hasPassword: true }),
    undefined,
  ],
]

describe("what is missing:", () => {
  test.each(rows)("%s", (_, session, requirement, expected) => {
    expect(findMissing(session, { since, ...requirement }, now)).toEqual(expected)
  })
})
