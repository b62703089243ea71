import { describe, expect, test } from "vitest"
import {
  type AuthorizationRequest,
  nextStep,
  type Present,
  type SessionPolicy,
  type Step,
} from "../../src/login/flow.ts"

const now = 1_000_000
const request: AuthorizationRequest = { prompts: [], sessionId: "", created: now }
/** Nothing but a password was checked. */
const fresh = { checks: {}, userVerified: false }
const ann: Present = { id: "s-ann", userId: "ann", authTime: now - 60_000, ...fresh }
const bob: Present = { id: "s-bob", userId: "bob", authTime: now - 600_000, ...fresh }
const done = (who: Present): Step => ({ kind: "done", sessionId: who.id })
const choose: Step = { kind: "choose" }
const consent = (who: Present): Step => ({ kind: "consent", sessionId: who.id })
const barred = (who: Present): Step => ({ kind: "barred", sessionId: who.id, bar: "roles" })
const bars =
  (...users: readonly string[]) =>
  (userId: string) =>
    users.includes(userId) ? ("roles" as const) : undefined
/** Whom a provider vouched for. */
const external: Present = { ...ann, checks: { intent: ann.authTime } }
const password = (userId: string): Step => ({ kind: "password", userId })

const hour = 3600
const need = {
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
type Needed = NonNullable<SessionPolicy["need"]>
const needs = (changes: Partial<Needed>) => ({ needOf: () => ({ ...need, ...changes }) })
const app = needs({ factors: ["otp", "recovery_codes"] })
const factor: Step = { kind: "factor", userId: "ann", factors: ["otp", "recovery_codes"] }
const offer = (isForced: boolean, factors: Needed["offered"] = ["otp"]): Step => ({
  kind: "set up",
  userId: "ann",
  factors,
  isForced,
})
const ago = (hours: number) => now - hours * hour * 1000
const annWith = (checks: Present["checks"], userVerified = false): Present => ({
  ...ann,
  checks,
  userVerified,
})

const alone = (isThere: boolean, orLink = false) =>
  needs({ passkeyAlone: { isThere, canBeMade: true, orLink } })
const byLink = annWith({ magicLink: now })
const mailed = needs({ factors: ["otp_email", "recovery_codes"] })
const both = needs({ factors: ["otp", "otp_email"] })
const noPassword = { ...mailed.needOf(), hasPassword: false, isForced: true }
const passkey: Step = { kind: "factor", userId: "ann", factors: ["passkey"] }
const mail: Step = { ...factor, factors: ["otp_email", "recovery_codes"] }
const appProved = annWith({ totp: now })
const annDone = { ...done(ann), sessionId: ann.id }
const alsoApp = () => ({ ...alone(false).needOf(), factors: app.needOf().factors })

/** What differs from a request without wishes, by which no policy applies. */
type Changes = Partial<AuthorizationRequest> & {
  readonly mayRegister?: boolean
  readonly barOf?: (userId: string) => SessionPolicy["bar"]
  readonly needOf?: () => Needed
}
type Row = readonly [string, Changes, readonly Present[], Step | undefined]
const rows: readonly Row[] = [
  ["nobody is signed in", {}, [], { kind: "login name" }],
  ["one person is signed in", {}, [ann], done(ann)],
  ["two are", {}, [ann, bob], { kind: "choose" }],
  ["prompt=login", { prompts: ["login"] }, [ann], password("ann")],
  ["prompt=login and two", { prompts: ["login"] }, [ann, bob], { kind: "choose" }],
  ["prompt=select_account", { prompts: ["select_account"] }, [ann], { kind: "choose" }],
  ["prompt=consent", { prompts: ["consent"] }, [ann], consent(ann)],
  ["prompt=consent and two", { prompts: ["consent"] }, [ann, bob], choose],
  ["consent is given", { prompts: ["consent"], consent: ann.id }, [ann], done(ann)],
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
  ["the only one may not", { barOf: bars("ann") }, [ann], barred(ann)],
  ["one of two may not", { barOf: bars("ann") }, [ann, bob], done(bob)],
  ["neither may", { barOf: bars("ann", "bob") }, [ann, bob], choose],
  ["the chosen one may not", { barOf: bars("ann"), sessionId: ann.id }, [ann, bob], barred(ann)],
  ["who may not is not asked", { barOf: bars("ann"), prompts: ["consent"] }, [ann], barred(ann)],
  ["who may not needs no password", { barOf: bars("ann"), maxAge: 0 }, [ann], barred(ann)],
  ["prompt=select_account, nobody", { prompts: ["select_account"] }, [], { kind: "login name" }],
  ["max_age not reached", { maxAge: 60 }, [ann], done(ann)],
  ["the policy's lifetime not reached", needs({ firstLifetime: 60 }), [ann], done(ann)],
  ["the policy's lifetime passed", needs({ firstLifetime: 59 }), [ann], password("ann")],
  ["a provider's lifetime passed", needs({ externalLifetime: 59 }), [external], password("ann")],
  ["a provider has its own lifetime", needs({ firstLifetime: 59 }), [external], done(external)],
  ["a lifetime that max_age is shorter than", { maxAge: 59, ...app }, [ann], password("ann")],
  ["prompt=create", { prompts: ["create"], mayRegister: true }, [ann], { kind: "register" }],
  ["prompt=create, which nobody may", { prompts: ["create"] }, [ann], { kind: "choose" }],
  ["prompt=create, which nobody may", { prompts: ["create"] }, [], { kind: "login name" }],
  [
    "prompt=create, and somebody has",
    { prompts: ["create"], mayRegister: true, sessionId: ann.id },
    [ann],
    done(ann),
  ],
  ["a password where none counts alone", alone(true), [ann], passkey],
  ["the same of who has none yet", alone(false), [ann], offer(true, ["passkey"])],
  ["the same of who has an app, too", { needOf: alsoApp }, [ann], factor],
  ["the same with the app proved", { needOf: alsoApp }, [appProved], offer(true, ["passkey"])],
  ["a passkey where no password counts", alone(true), [annWith({ webAuthN: now }, true)], annDone],
  ["a link that was mailed", needs({}), [byLink], annDone],
  ["a link, and a code by mail", mailed, [byLink], password("ann")],
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
  ["a link, and something else", both, [byLink], { ...factor, factors: ["otp"] }],
  [
    "a link where one more is forced of who has no password",
    { needOf: () => ({ ...noPassword, offered: ["otp", "otp_email"] }) },
    [byLink],
    offer(true),
  ],
  ["a link where passwords don't count alone", alone(true, true), [byLink], annDone],
  ["the same where links don't either", alone(true), [byLink], passkey],
  [
    "a link has the lifetime of a password",
    needs({ firstLifetime: 59 }),
    [{ ...byLink, authTime: ann.authTime }],
    password("ann"),
  ],
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
  ["one of two was chosen", { sessionId: bob.id }, [ann, bob], done(bob)],
  ["the chosen one is too old", { sessionId: bob.id, maxAge: 100 }, [ann, bob], password("bob")],
  ["the chosen one has ended", { sessionId: "gone" }, [ann, bob], { kind: "choose" }],
  ["nothing is asked of who has no factor", needs({}), [ann], done(ann)],
  ["a factor is asked for", app, [ann], factor],
  ["one that was proved a while ago counts", app, [annWith({ totp: ago(17) })], undefined],
  ["one that was proved long ago counts no more", app, [annWith({ totp: ago(19) })], factor],
  [
    "long ago, but for this request",
    { ...needs({ factors: ["otp", "recovery_codes"], secondLifetime: 0 }), created: ago(20) },
    [annWith({ totp: ago(19) })],
    undefined,
  ],
  ["a password is no second factor", app, [annWith({ user: now, password: now })], factor],
  ["a recovery code is", app, [annWith({ recoveryCode: now })], undefined],
  ["a security key is", app, [annWith({ webAuthN: ago(13) })], undefined],
  ["a passkey is both", app, [annWith({ webAuthN: ago(11) }, true)], undefined],
  ["a passkey of long ago is none", app, [annWith({ webAuthN: ago(19) }, true)], factor],
  ["a password comes first", { ...app, prompts: ["login"] }, [ann], password("ann")],
  ["who may not is asked for nothing", { ...app, barOf: bars("ann") }, [ann], barred(ann)],
  ["a factor comes before consent", { ...app, prompts: ["consent"] }, [ann], factor],
  ["one is forced", needs({ isForced: true, offered: ["otp"] }), [ann], offer(true)],
  [
    "who signed in long ago sets none up",
    needs({ isForced: true, offered: ["otp"] }),
    [{ ...ann, authTime: ago(1) }],
    password("ann"),
  ],
  [
    "unless that was for this request",
    { ...needs({ isForced: true, offered: ["otp"] }), created: ago(2) },
    [{ ...ann, authTime: ago(1) }],
    offer(true),
  ],
  ["nor a passkey", alone(false), [{ ...ann, authTime: ago(1) }], password("ann")],
  ["and there is none", needs({ isForced: true }), [ann], offer(true, [])],
  [
    "forced and there",
    needs({ isForced: true, factors: ["otp", "recovery_codes"] }),
    [ann],
    factor,
  ],
  ["forced and proved", needs({ isForced: true }), [annWith({ totp: now })], undefined],
  [
    "one is offered who has just signed in",
    { ...needs({ isDue: true, offered: ["otp"] }), created: ago(1) },
    [ann],
    offer(false),
  ],
  ["not to who did before", needs({ isDue: true, offered: ["otp"] }), [ann], done(ann)],
  ["nor what there is not", { ...needs({ isDue: true }), created: ago(1) }, [ann], done(ann)],
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
    const policyOf = ({ userId }: Present) => ({ bar: barOf?.(userId), need: needOf?.() })
    const sessions = new Map(present.map((session) => [session.id, policyOf(session)]))
    const found = nextStep({ ...request, ...wishes }, present, { mayRegister, sessions }, now)
    expect(found).toEqual(step ?? done(ann))
  })

  test("a sign-in for this very request satisfies prompt=login and every max_age", () => {
    const fresh = { ...ann, authTime: now + 5 }
    const wishes = { prompts: ["login"], maxAge: 0, sessionId: ann.id } as const
    const policies = { mayRegister: false, sessions: new Map([[ann.id, {}]]) }
    const step = nextStep({ ...request, ...wishes }, [fresh], policies, now + 90_000)
    expect(step).toEqual(done(fresh))
  })

  test("lets nobody in whose policy was not read", () => {
    const policies = { mayRegister: false, sessions: new Map([[bob.id, {}]]) }
    expect(() => nextStep(request, [ann], policies, now)).toThrow("no policy was read")
  })
})
