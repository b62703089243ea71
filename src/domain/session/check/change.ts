import { randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { type Admit, provePassword } from "../../credential/index.ts"
import { keyHolder } from "../../factor/index.ts"
import type { CheckedIntent } from "../../federation/index.ts"
import { accountOf, isUnknownName } from "../../user-lookup/index.ts"
import { hasLeft, user } from "../../user-model/index.ts"
import { addSession, checkedBy } from "../commands.ts"
import { type SessionEvent, type SessionMetadata, session, type UserAgent } from "../model.ts"
import { isLive, passwordVersionOf } from "../query.ts"
import { tokenHash } from "../token.ts"
import {
  type AskedFor,
  askFor,
  challengesOf,
  hasLink,
  type ToldChallenges,
  type WantedChallenges,
} from "./challenge.ts"
import { checkError, type Refusal } from "./check-error.ts"
import { type Proof, proofsOf, proveAll, proveIntent } from "./proof.ts"

/** Who it is, by what a login page was told; nothing of it is proved. */
export type Named = { readonly userId: string } | { readonly loginName: string }

/** What a login page asks of a session. */
export type Asked = {
  readonly user?: Named | undefined
  readonly password?: string | undefined
  readonly proofs: readonly Proof[]
  /** What came of a sign-in with an identity provider. */
  readonly intent?: CheckedIntent | undefined
  readonly challenges: WantedChallenges
  readonly metadata: SessionMetadata
  /** From now on. */
  readonly lifetimeSeconds?: number | undefined
}

/** A session after a change. Of its tokens this is the only one that counts. */
export type Changed = {
  readonly id: string
  readonly token: string
  readonly receipt: Receipt
  /** What a login page hands on to its person. */
  readonly told: ToldChallenges
}

/**
 * Begins a session for a login page and checks what is asked. Where something is wrong, there is
 * none; what that counts as, and how long it takes, is as in our own login.
 */
export function createSession(
  cx: Cx,
  { userAgent, ...asked }: Asked & { readonly userAgent: UserAgent },
): Promise<Changed> {
  const person = inPlaceOf(cx, userAgent)
  person.allowance?.spend("request")
  const id = cx.ids.next()
  const { caller } = cx
  const creatorId = caller.kind === "user" ? caller.userId : ""
  const isPersonal = userAgent.ip !== undefined
  return change(person, id, { ...asked, isPersonal }, (tx, userId) => {
    const orgId = tx.owner(user, userId) || (caller.kind === "user" ? caller.orgId : "")
    addSession(tx, id, { userId: "", agentId: "", creatorId, userAgent, orgId })
  })
}

/** Checks more in a session that a login page has begun, and notes what is given. */
export function setSession(cx: Cx, id: string, asked: Asked): Promise<Changed> {
  const { creatorId, userAgent } = cx.store.state(cx, session, id)
  // Whoever may set sessions would have the sign-ins of everybody else with them.
  if (creatorId === undefined) {
    throw new Fault(
      "failed_precondition",
      "session.of_browser",
      "this session belongs to a browser that has signed in on our own pages; create another one",
    )
  }
  const isPersonal = userAgent.ip !== undefined
  return change(inPlaceOf(cx, userAgent), id, { ...asked, isPersonal })
}

/**
 * A login page speaks for many people: what each of them may cost is counted on their address, and
 * failed sign-ins are stored with the address and browser that the page states, not with its own.
 */
function inPlaceOf(cx: Cx, { ip, header }: UserAgent): Cx {
  const allowance = ip === undefined ? undefined : cx.allowance?.behalf?.(ip)
  const [, [userAgent = ""] = []] =
    Object.entries(header ?? {}).find(([name]) => name.toLowerCase() === "user-agent") ?? []
  return { ...cx, ...(allowance && { allowance }), from: { address: ip ?? "", userAgent } }
}

type Begin = (tx: Transaction, userId: string) => void

/** Whose session it is, or is to be; `said` where it was said just now. */
type Who = { readonly userId: string; readonly said?: { readonly loginName: string } }

/** `isPersonal`: whether it is known from which address the person comes. */
type Change = Asked & { readonly isPersonal: boolean }

async function change(cx: Cx, id: string, asked: Change, begin?: Begin): Promise<Changed> {
  const who = whoseOf(cx, id, asked)
  const token = randomToken(cx.random)
  const admits = await proofsOf(cx, id, { userId: who.userId, proofs: asked.proofs })
  const paced = cx.allowance?.pace()
  const challenges = await challengesOf(cx, askedFor(cx, id, { asked, who }), asked.challenges)
  // Of a page that says for nobody where they come from, all would be counted as one.
  if (hasLink(challenges) && asked.isPersonal) cx.allowance?.spend("message")
  let receipt: Receipt | undefined
  const act = async (admit?: Admit): Promise<Refusal | "done"> => {
    const step = await cx.store.transact(cx, (tx) => {
      if (!begin) mustLive(tx, id)
      const proved = proveAll(tx, who.userId, { admit, admits })
      if (typeof proved === "string") return proved
      const byIntent = asked.intent ? proveIntent(tx, who.userId, asked.intent) : []
      if (typeof byIntent === "string") return byIntent
      begin?.(tx, who.userId)
      tx.append(session, id, eventsOf(tx, asked, who))
      tx.append(session, id, byIntent)
      tx.append(session, id, proved)
      askFor(tx, id, challenges)
      tx.append(session, id, [tokenSet(cx, id, { token, isFirst: begin !== undefined })])
      return "done"
    })
    receipt = step.receipt(session, id)
    return step.value
  }
  const end = await guessed(cx, who, { asked, act })
  if (end !== "done" || !receipt) throw checkError(end === "done" ? "wrong" : end)
  // Who is mailed and who is nobody are answered at the same beat.
  if (hasLink(challenges)) await paced?.()
  return { id, token, receipt, told: challenges.told }
}

/** Whether somebody is asked of whom nothing is proved, nor will be by this call. */
function askedFor(
  cx: Cx,
  id: string,
  { asked, who }: { readonly asked: Asked; readonly who: Who },
): AskedFor {
  const { password, proofs, intent } = asked
  const isProving = password !== undefined || proofs.length > 0 || intent !== undefined
  const isUnproven = !isProving && cx.store.state(cx, session, id).authTime === 0
  return { userId: who.userId, isUnproven }
}

type Try = {
  readonly asked: Asked
  readonly act: (admit?: Admit) => Promise<Refusal | "done">
}

/** Only failures cost. Whoever knows the password has not guessed, also where they may not in. */
async function guessed(cx: Cx, { userId }: Who, { asked, act }: Try): Promise<Refusal | "done"> {
  const { password, proofs } = asked
  if (password === undefined && proofs.length === 0) return act()
  if (userId === "") throw checkError("user missing")
  cx.allowance?.spend("guess")
  const end =
    password === undefined
      ? await act()
      : await provePassword(cx, { account: userId, plain: password }, act)
  if (end === "wrong" || end === "none") return "wrong"
  if (end === "proof wrong") return end
  cx.allowance?.refund("guess")
  if (end === "done") cx.allowance?.refund("request")
  return end
}

function whoseOf(cx: Cx, id: string, { user: named, proofs, intent }: Asked): Who {
  const { userId: before } = cx.store.state(cx, session, id)
  if (!named && before === "" && intent) {
    return { userId: intent.userId, said: { loginName: "" } }
  }
  if (!named) return before === "" ? keyOwner(cx, proofs) : { userId: before }
  const userId = "userId" in named ? named.userId : accountNamed(cx, named.loginName)
  if ("userId" in named && hasLeft(cx.store.state(cx, user, userId))) throw userMissingError()
  if (before !== "" && before !== userId) {
    throw new Fault(
      "failed_precondition",
      "session.user_fixed",
      "a session keeps its user; create another one for somebody else",
    )
  }
  return { userId, said: { loginName: "loginName" in named ? named.loginName : "" } }
}

/** Somebody who picks a passkey says by it who they are. */
function keyOwner(cx: Cx, proofs: readonly Proof[]): Who {
  const key = proofs.find(({ kind }) => kind === "webauthn")
  if (!key) return { userId: "" }
  const userId = keyHolder(cx, key.given)
  if (userId === undefined) throw checkError("proof wrong")
  return { userId, said: { loginName: "" } }
}

/** Where the policy says so, a name that is nobody's is taken for one whose password is wrong. */
function accountNamed(cx: Cx, loginName: string): string {
  if (isUnknownName(cx, loginName)) throw userMissingError()
  return accountOf(cx, loginName)
}

const userMissingError = () => new Fault("not_found", "user.missing", "there is no such user")

function mustLive(tx: Transaction, id: string): void {
  if (isLive(tx.state(session, id), tx.now)) return
  throw new Fault("failed_precondition", "session.over", "this session is over; create another one")
}

function eventsOf(tx: Transaction, asked: Asked, { userId, said }: Who): Draft<SessionEvent>[] {
  const { password, metadata, lifetimeSeconds } = asked
  const passwordVersion = password === undefined ? undefined : passwordVersionOf(tx, userId)
  const orgId = tx.owner(user, userId)
  const events: Draft<SessionEvent>[] = []
  if (said) events.push({ type: "session.user.checked", data: { userId, orgId }, private: said })
  if (passwordVersion !== undefined) {
    events.push(checkedBy({ kind: "password" }, passwordVersion))
  }
  if (lifetimeSeconds !== undefined) {
    events.push({ type: "session.lifetime.set", data: { lifetimeSeconds } })
  }
  if (Object.keys(metadata).length > 0) {
    events.push({ type: "session.metadata.set", data: {}, private: { metadata } })
  }
  return events
}

type Token = { readonly token: string; readonly isFirst: boolean }

/** The token before it is worth nothing from now on, and forgotten. */
function tokenSet(cx: Cx, id: string, { token, isFirst }: Token): Draft<SessionEvent> {
  const set = {
    type: "session.token.set",
    data: {},
    private: { hash: tokenHash(cx, id, token) },
  } as const
  return isFirst ? set : { ...set, erase: { types: ["session.token.set"] } }
}
