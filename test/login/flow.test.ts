import { describe, expect, test } from "vitest"
import {
  nextStep,
  type PresentSession,
  type SessionPolicy,
  type SignInRequest,
  type Step,
} from "../../src/login/flow.ts"

const now = 1_000_000
const request: SignInRequest = { prompts: [], sessionId: "", created: now }
/** Only a password was checked. */
const passwordOnly = { checks: {}, userVerified: false }
const ann: PresentSession = { id: "s-ann", userId: "ann", authTime: now - 60_000, ...passwordOnly }
const bob: PresentSession = { id: "s-bob", userId: "bob", authTime: now - 600_000, ...passwordOnly }
const doneStep = (session: PresentSession): Step => ({ kind: "done", sessionId: session.id })
const choose: Step = { kind: "choose" }
const consent = (session: PresentSession): Step => ({ kind: "consent", sessionId: session.id })
const barredStep = (session: PresentSession): Step => ({
  kind: "barred",
  sessionId: session.id,
  bar: "roles",
})
const barUsers =
  (...users: readonly string[]) =>
  (userId: string) =>
    users.includes(userId) ? ("roles" as const) : undefined
/** A session verified by an identity provider. */
const external: PresentSession = { ...ann, checks: { intent: ann.authTime } }
const password = (userId: string): Step => ({ kind: "password", userId })

const hour = 3600
const defaultRequirement = {
  factors: [],
  offered: [],
  isForced: false,
  isLocalOnly: false,
  isDue: false,
  secondLifetime: 18 * hour,
  multiLifetime: 12 * hour,
  externalLifetime: Infinity,
  firstLifetime: 240 * hour,
  hasPassword: true,
} as const
type FactorRequirement = NonNullable<SessionPolicy["need"]>
const withRequirement = (changes: Partial<FactorRequirement>) => ({
  needOf: () => ({ ...defaultRequirement, ...changes }),
})
const withApp = withRequirement({ factors: ["otp", "recovery_codes"] })
const factor: Step = { kind: "factor", userId: "ann", factors: ["otp", "recovery_codes"] }
const setUpStep = (isForced: boolean, factors: FactorRequirement["offered"] = ["otp"]): Step => ({
  kind: "set up",
  userId: "ann",
  factors,
  isForced,
})
const hoursAgo = (hours: number) => now - hours * hour * 1000
const annWith = (checks: PresentSession["checks"], userVerified = false): PresentSession => ({
  ...ann,
  checks,
  userVerified,
})

const passkeyOnly = (isThere: boolean, orLink = false) =>
  withRequirement({ passkeyAlone: { isThere, canBeMade: true, orLink } })
const byMagicLink = annWith({ magicLink: now })
const mailed = withRequirement({ factors: ["otp_email", "recovery_codes"] })
const appAndMail = withRequirement({ factors: ["otp", "otp_email"] })
const noPassword = { ...mailed.needOf(), hasPassword: false, isForced: true }
const passkey: Step = { kind: "factor", userId: "ann", factors: ["passkey"] }
const mail: Step = { ...factor, factors: ["otp_email", "recovery_codes"] }
const appChecked = annWith({ totp: now })
const annDone = { ...doneStep(ann), sessionId: ann.id }
const passkeyOrApp = () => ({ ...passkeyOnly(false).needOf(), factors: withApp.needOf().factors })

/** The differences from a plain request, to which no policy applies. */
type Changes = Partial<SignInRequest> & {
  readonly mayRegister?: boolean
  readonly barOf?: (userId: string) => SessionPolicy["bar"]
  readonly needOf?: () => FactorRequirement
}
type Row = readonly [string, Changes, readonly PresentSession[], Step | undefined]
const rows: readonly Row[] = [
  ["nobody is signed in", {}, [], { kind: "login name" }],
  ["one person is signed in", {}, [ann], doneStep(ann)],
  ["two are", {}, [ann, bob], { kind: "choose" }],
  ["prompt=login", { prompts: ["login"] }, [ann], password("ann")],
  ["prompt=login and two", { prompts: ["login"] }, [ann, bob], { kind: "choose" }],
  ["prompt=select_account", { prompts: ["select_account"] }, [ann], { kind: "choose" }],
  ["prompt=consent", { prompts: ["consent"] }, [ann], consent(ann)],
  ["prompt=consent and two", { prompts: ["consent"] }, [ann, bob], choose],
  ["consent is given", { prompts: ["consent"], consent: ann.id }, [ann], doneStep(ann)],
  [
    "consent was given by another",
    { prompts: ["consent"], consent: ann.id, sessionId: bob.id },
    [ann, bob],
    consent(bob),
  ],
  ["consent and login", { prompts: ["login", "consent"] }, [ann], password("ann")],
  ["consent and an old sign-in", { prompts: ["consent"], maxAge: 9 }, [ann], password("ann")],
  ["consent and select_account", { prompts: ["consent", "select_account"] }, [ann], choose],
  [
    "consent was denied",
    { prompts: ["consent"], isDenied: true },
    [ann],
    { kind: "refuse", why: "denied" },
  ],
  ["the only one may not", { barOf: barUsers("ann") }, [ann], barredStep(ann)],
  ["one of two may not", { barOf: barUsers("ann") }, [ann, bob], doneStep(bob)],
  ["neither may", { barOf: barUsers("ann", "bob") }, [ann, bob], choose],
  [
    "the chosen one may not",
    { barOf: barUsers("ann"), sessionId: ann.id },
    [ann, bob],
    barredStep(ann),
  ],
  [
    "who may not is not asked",
    { barOf: barUsers("ann"), prompts: ["consent"] },
    [ann],
    barredStep(ann),
  ],
  ["who may not needs no password", { barOf: barUsers("ann"), maxAge: 0 }, [ann], barredStep(ann)],
  ["prompt=select_account, nobody", { prompts: ["select_account"] }, [], { kind: "login name" }],
  ["max_age not reached", { maxAge: 60 }, [ann], doneStep(ann)],
  [
    "the policy's lifetime not reached",
    withRequirement({ firstLifetime: 60 }),
    [ann],
    doneStep(ann),
  ],
  ["the policy's lifetime passed", withRequirement({ firstLifetime: 59 }), [ann], password("ann")],
  [
    "a provider's lifetime passed",
    withRequirement({ externalLifetime: 59 }),
    [external],
    password("ann"),
  ],
  [
    "a provider has its own lifetime",
    withRequirement({ firstLifetime: 59 }),
    [external],
    doneStep(external),
  ],
  ["a lifetime that max_age is shorter than", { maxAge: 59, ...withApp }, [ann], password("ann")],
  ["prompt=create", { prompts: ["create"], mayRegister: true }, [ann], { kind: "register" }],
  ["prompt=create, which nobody may", { prompts: ["create"] }, [ann], { kind: "choose" }],
  ["prompt=create, which nobody may", { prompts: ["create"] }, [], { kind: "login name" }],
  [
    "prompt=create, and somebody has",
    { prompts: ["create"], mayRegister: true, sessionId: ann.id },
    [ann],
    doneStep(ann),
  ],
  ["a password where none counts alone", passkeyOnly(true), [ann], passkey],
  ["the same of who has none yet", passkeyOnly(false), [ann], setUpStep(true, ["passkey"])],
  ["the same of who has an app, too", { needOf: passkeyOrApp }, [ann], factor],
  [
    "the same with the app proved",
    { needOf: passkeyOrApp },
    [appChecked],
    setUpStep(true, ["passkey"]),
  ],
  [
    "a passkey where no password counts",
    passkeyOnly(true),
    [annWith({ webAuthN: now }, true)],
    annDone,
  ],
  ["a link that was mailed", withRequirement({}), [byMagicLink], annDone],
  ["a link, and a code by mail", mailed, [byMagicLink], password("ann")],
  [
    "the same with the code proved",
    mailed,
    [annWith({ magicLink: now, otpEmail: now })],
    password("ann"),
  ],
  [
    "the same with the password after",
    mailed,
    [annWith({ magicLink: now - 1, password: now })],
    mail,
  ],
  ["a link, and another resource", appAndMail, [byMagicLink], { ...factor, factors: ["otp"] }],
  [
    "a link where one more is forced of who has no password",
    { needOf: () => ({ ...noPassword, offered: ["otp", "otp_email"] }) },
    [byMagicLink],
    setUpStep(true),
  ],
  ["a link where passwords don't count alone", passkeyOnly(true, true), [byMagicLink], annDone],
  ["the same where links don't either", passkeyOnly(true), [byMagicLink], passkey],
  [
    "a link has the lifetime of a password",
    withRequirement({ firstLifetime: 59 }),
    [{ ...byMagicLink, authTime: ann.authTime }],
    password("ann"),
  ],
  ["max_age passed", { maxAge: 59 }, [ann], password("ann")],
  ["max_age=0", { maxAge: 0 }, [ann], password("ann")],
  ["a hint names one of two", { hintedUser: "bob" }, [ann, bob], doneStep(bob)],
  ["a hint names somebody who isn't here", { hintedUser: "cy" }, [ann], { kind: "login name" }],
  [
    "a hint names one who is too old",
    { hintedUser: "bob", maxAge: 9 },
    [ann, bob],
    password("bob"),
  ],
  ["a login_hint names one of two", { suggestedUser: "bob" }, [ann, bob], doneStep(bob)],
  ["a login_hint names somebody else", { suggestedUser: "cy" }, [ann], { kind: "login name" }],
  [
    "consent, for whom a hint names",
    { prompts: ["consent"], hintedUser: "ann" },
    [ann, bob],
    consent(ann),
  ],
  [
    "consent, and a login_hint",
    { prompts: ["consent"], suggestedUser: "ann" },
    [ann, bob],
    consent(ann),
  ],
  ["a login_hint is nobody's", { suggestedUser: "" }, [ann], { kind: "login name" }],
  ["one of two was chosen", { sessionId: bob.id }, [ann, bob], doneStep(bob)],
  ["the chosen one is too old", { sessionId: bob.id, maxAge: 100 }, [ann, bob], password("bob")],
  ["the chosen one has ended", { sessionId: "gone" }, [ann, bob], { kind: "choose" }],
  ["nothing is asked of who has no factor", withRequirement({}), [ann], doneStep(ann)],
  ["a factor is asked for", withApp, [ann], factor],
  ["one that was proved a while ago counts", withApp, [annWith({ totp: hoursAgo(17) })], undefined],
  [
    "one that was proved long ago counts no more",
    withApp,
    [annWith({ totp: hoursAgo(19) })],
    factor,
  ],
  [
    "long ago, but for this request",
    {
      ...withRequirement({ factors: ["otp", "recovery_codes"], secondLifetime: 0 }),
      created: hoursAgo(20),
    },
    [annWith({ totp: hoursAgo(19) })],
    undefined,
  ],
  ["a password is no second factor", withApp, [annWith({ user: now, password: now })], factor],
  ["a recovery code is", withApp, [annWith({ recoveryCode: now })], undefined],
  ["a security key is", withApp, [annWith({ webAuthN: hoursAgo(13) })], undefined],
  ["a passkey is both", withApp, [annWith({ webAuthN: hoursAgo(11) }, true)], undefined],
  ["a passkey of long ago is none", withApp, [annWith({ webAuthN: hoursAgo(19) }, true)], factor],
  ["a password comes first", { ...withApp, prompts: ["login"] }, [ann], password("ann")],
  [
    "who may not is asked for nothing",
    { ...withApp, barOf: barUsers("ann") },
    [ann],
    barredStep(ann),
  ],
  ["a factor comes before consent", { ...withApp, prompts: ["consent"] }, [ann], factor],
  ["one is forced", withRequirement({ isForced: true, offered: ["otp"] }), [ann], setUpStep(true)],
  [
    "who signed in long ago sets none up",
    withRequirement({ isForced: true, offered: ["otp"] }),
    [{ ...ann, authTime: hoursAgo(1) }],
    password("ann"),
  ],
  [
    "unless that was for this request",
    { ...withRequirement({ isForced: true, offered: ["otp"] }), created: hoursAgo(2) },
    [{ ...ann, authTime: hoursAgo(1) }],
    setUpStep(true),
  ],
  ["nor a passkey", passkeyOnly(false), [{ ...ann, authTime: hoursAgo(1) }], password("ann")],
  ["and there is none", withRequirement({ isForced: true }), [ann], setUpStep(true, [])],
  [
    "forced and there",
    withRequirement({ isForced: true, factors: ["otp", "recovery_codes"] }),
    [ann],
    factor,
  ],
  ["forced and proved", withRequirement({ isForced: true }), [annWith({ totp: now })], undefined],
  [
    "one is offered who has just signed in",
    { ...withRequirement({ isDue: true, offered: ["otp"] }), created: hoursAgo(1) },
    [ann],
    setUpStep(false),
  ],
  [
    "not to who did before",
    withRequirement({ isDue: true, offered: ["otp"] }),
    [ann],
    doneStep(ann),
  ],
  [
    "nor what there is not",
    { ...withRequirement({ isDue: true }), created: hoursAgo(1) },
    [ann],
    doneStep(ann),
  ],
  [
    "another than hinted signed in",
    { sessionId: ann.id, hintedUser: "bob" },
    [ann],
    { kind: "refuse", why: "other person" },
  ],
]

describe("nextStep", () => {
  test.each(rows)("%s", (_, changes, present, step) => {
    const { mayRegister = false, barOf, needOf, ...wishes } = changes
    const policyOf = ({ userId }: PresentSession) => ({ bar: barOf?.(userId), need: needOf?.() })
    const sessions = new Map(present.map((session) => [session.id, policyOf(session)]))
    const found = nextStep({ ...request, ...wishes }, present, { mayRegister, sessions }, now)
    expect(found).toEqual(step ?? doneStep(ann))
  })

  test("a sign-in for this very request satisfies prompt=login and every max_age", () => {
    const fresh = { ...ann, authTime: now + 5 }
    const wishes = { prompts: ["login"], maxAge: 0, sessionId: ann.id } as const
    const policies = { mayRegister: false, sessions: new Map([[ann.id, {}]]) }
    const step = nextStep({ ...request, ...wishes }, [fresh], policies, now + 90_000)
    expect(step).toEqual(doneStep(fresh))
  })

  test("rejects a user whose policy was not loaded", () => {
    const policies = { mayRegister: false, sessions: new Map([[bob.id, {}]]) }
    expect(() => nextStep(request, [ann], policies, now)).toThrow(
      "no policy was loaded for session s-ann",
    )
  })
})
