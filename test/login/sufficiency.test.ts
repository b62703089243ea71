import { describe, expect, test } from "vitest"
import {
  missingFrom,
  type Need,
  type Requirement,
  type SessionFacts,
} from "../../src/login/flow.ts"

const now = 1_800_000_000_000
const minute = 60_000
const hour = 60 * minute
/** When the request began. */
const since = now - minute
/** Since then, and an hour before. */
const [lately, before] = [now - 1000, now - hour]

const need: Need = {
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
const has = (changes: Partial<Need>) => ({ need: { ...need, ...changes } })
const login = { mustSignIn: true }
const maxAge = (maxAgeSeconds: number) => ({ maxAgeSeconds })

type Provided = { readonly at: number; readonly freshAt?: number }
/** By a provider that answered at a time, and has stated one or not. */
function provided({ at, freshAt }: Provided, checks: SessionFacts["checks"] = {}): SessionFacts {
  const vouched = { idpId: "acme", idpOrg: "", ...(freshAt !== undefined && { freshAt }) }
  return {
    authTime: freshAt ?? at,
    checks: { intent: at, ...checks },
    userVerified: false,
    vouched,
  }
}
const typed = (at: number): SessionFacts => ({
  authTime: at,
  checks: { password: at },
  userVerified: false,
})

const mailed = (at: number): SessionFacts => ({
  authTime: at,
  checks: { magicLink: at },
  userVerified: false,
})

const signIn = { kind: "password" } as const
const localPassword = { kind: "password", isLocal: true } as const
const notFresh = { kind: "not fresh", idpId: "acme" } as const
const code = { kind: "factor", factors: ["otp"] } as const

type Row = readonly [string, SessionFacts, Partial<Requirement>, ReturnType<typeof missingFrom>]
const rows: readonly Row[] = [
  ["nothing is required", provided({ at: before }), {}, undefined],
  [
    "the access rules keep them out",
    typed(lately),
    { ...login, bar: "roles" },
    { kind: "barred", bar: "roles" },
  ],
  ["prompt=login, a password since", typed(lately), login, undefined],
  ["prompt=login, a password before", typed(before), login, signIn],
  ["max_age, a password within", typed(before), maxAge(3600), undefined],
  ["max_age, a password before that", typed(before), maxAge(3599), signIn],
  ["prompt=login, no provider asked yet", provided({ at: before, freshAt: before }), login, signIn],
  [
    "prompt=login, a stated sign-in since",
    provided({ at: lately, freshAt: lately }),
    login,
    undefined,
  ],
  [
    "prompt=login, stated by a clock a minute behind",
    provided({ at: lately, freshAt: since - minute + 1 }),
    login,
    undefined,
  ],
  [
    "prompt=login, stated more than a minute before",
    provided({ at: lately, freshAt: since - minute }),
    login,
    notFresh,
  ],
  [
    "the minute counts for no answer that the request has not led to",
    provided({ at: since - 1, freshAt: since - 1 }),
    login,
    signIn,
  ],
  ["max_age, no time stated, nothing here", provided({ at: lately }), maxAge(3600), notFresh],
  ["max_age, no time stated, before", provided({ at: before }), maxAge(36_000), signIn],
  [
    "prompt=login, no time, a password here",
    provided({ at: lately }),
    { ...login, ...has({ hasPassword: true }) },
    localPassword,
  ],
  [
    "prompt=login, no time, a code here",
    provided({ at: lately }),
    { ...login, ...has({ factors: ["otp"] }) },
    code,
  ],
  [
    "prompt=login, no time, and a code since",
    provided({ at: lately }, { totp: lately + 1 }),
    { ...login, ...has({ factors: ["otp"] }) },
    undefined,
  ],
  [
    "prompt=login, no time, and a code of before",
    provided({ at: lately }, { totp: before }),
    { ...login, ...has({ factors: ["otp"] }) },
    code,
  ],
  [
    "prompt=login, no time, and a password since",
    provided({ at: lately }, { password: lately + 1 }),
    { ...login, ...has({ hasPassword: true }) },
    undefined,
  ],
  [
    "where passwords let nobody in, their passkey",
    provided({ at: lately }),
    {
      ...login,
      ...has({
        hasPassword: true,
        passkeyAlone: { isThere: true, canBeMade: true, orLink: false },
      }),
    },
    { kind: "factor", factors: ["passkey"] },
  ],
  [
    "how long an answer may be used again goes by when it came",
    provided({ at: before, freshAt: now - 300 * hour }),
    has({ externalLifetime: 3600 }),
    undefined,
  ],
  [
    "who has just come by a provider may set up the factor that is forced",
    provided({ at: lately }),
    has({ isForced: true, offered: ["otp"] }),
    { kind: "set up", factors: ["otp"], isForced: true },
  ],
  ...[{ isForced: true }, { isForcedManager: true }].flatMap((forced): Row[] => {
    const [name] = Object.keys(forced)
    const codes = has({ ...forced, offered: ["otp_email"], hasPassword: true })
    return [
      [`${name}, by a link, and codes by email alone can be set up`, mailed(lately), codes, signIn],
      [
        `${name}, by the password, and codes by email alone can be set up`,
        { ...typed(lately), checks: { magicLink: lately - 1, password: lately } },
        codes,
        { kind: "set up", factors: ["otp_email"], isForced: true },
      ],
    ]
  }),
  [
    "a manager by a link who has no password, and codes by email alone can be set up",
    mailed(lately),
    has({ isForcedManager: true, offered: ["otp_email"] }),
    undefined,
  ],
  [
    "by a link, and codes by email alone can be set up, which is not required",
    mailed(lately),
    has({ isDue: true, offered: ["otp_email"], hasPassword: true }),
    undefined,
  ],
]

describe("what is missing:", () => {
  test.each(rows)("%s", (_, session, requirement, expected) => {
    expect(missingFrom(session, { since, ...requirement }, now)).toEqual(expected)
  })
})
