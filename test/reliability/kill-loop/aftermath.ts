import {
  type Client,
  call,
  type Deed,
  firstPassword,
  isAcknowledged,
  type Journal,
  perform,
  type Reply,
} from "../../support/load.ts"

/**
 * Compares the server with what was asked of it: acknowledged means present; not acknowledged means
 * absent or wholly present. Answers what is wrong. What had no answer is asked for once more.
 */
export async function aftermath(client: Client, journal: Journal): Promise<readonly string[]> {
  const complaints: string[] = []
  const around = { client, journal, complain: (text: string) => void complaints.push(text) }
  // A connection of before the restart may fail once; from here on every request must be answered.
  await call(client, "user.ListUsers", { query: { limit: 1 } }).catch(() => undefined)
  for (const [deed, { status, body }] of journal.answers) {
    if (status !== 200) around.complain(`${show(deed)} got ${status}: ${JSON.stringify(body)}`)
  }
  await inLanes(journal.sent, (deed) => judges[deed.kind](around, deed))
  return complaints
}

type Around = {
  readonly client: Client
  readonly journal: Journal
  readonly complain: (text: string) => void
}

/** Enough at once to keep the server busy, and its answers prompt. */
async function inLanes(
  deeds: readonly Deed[],
  work: (deed: Deed) => Promise<void> | void,
): Promise<void> {
  const waiting = deeds.values()
  const lane = async () => {
    for (const deed of waiting) await work(deed)
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

type Judge = (around: Around, deed: Deed) => Promise<void> | void

const judges: Readonly<Record<Deed["kind"], Judge>> = {
  user: judgeUser,
  project: (around, deed) =>
    deed.kind === "project"
      ? judgeCreated(around, deed, {
          look: () => call(around.client, "project.GetProject", { projectId: deed.id }),
          isWhole: ({ body }) => body.project?.name === deed.name,
        })
      : undefined,
  app: (around, deed) =>
    deed.kind === "app"
      ? judgeCreated(around, deed, {
          look: () => call(around.client, "application.GetApplication", { applicationId: deed.id }),
          isWhole: ({ body: { application } }) => {
            const given = around.journal.answers.get(deed)?.body.oidcConfiguration?.clientId
            const clientId = application?.oidcConfiguration?.clientId
            return application?.name === deed.name && clientId === (given ?? clientId)
          },
        })
      : undefined,
  token: judgeToken,
  password: judgePassword,
  refresh: judgeRefresh,
  // Judged with its user: a later name stands for an earlier one.
  rename: () => undefined,
}

async function judgeUser(around: Around, deed: Deed): Promise<void> {
  if (deed.kind !== "user") return
  const { client, journal } = around
  const renames = journal.sent.filter((each) => each.kind === "rename" && each.id === deed.id)
  const lastKnown = renames.findLastIndex((each) => isAcknowledged(journal, each))
  const possible = renames.slice(Math.max(0, lastKnown))
  const names = [...(lastKnown < 0 ? [deed] : []), ...possible].map((each) =>
    each.kind === "rename" || each.kind === "user" ? each.name : "",
  )
  await judgeCreated(around, deed, {
    look: () => call(client, "user.GetUserByID", { userId: deed.id }),
    isWhole: ({ body: { user } }) =>
      user?.username === deed.name &&
      names.includes(user.human?.profile?.givenName) &&
      user.human?.email?.email === `${deed.name}@example.com` &&
      user.human?.email?.isVerified === true &&
      // The password comes by an event of its own, in the same step.
      Boolean(user.human?.passwordChanged),
  })
  const named = { loginNameQuery: { loginName: deed.name } }
  const { body } = await call(client, "user.ListUsers", { queries: [named] })
  const found = (body.result ?? []).map((each: { readonly userId: string }) => each.userId)
  if (found.join() !== deed.id)
    around.complain(`${show(deed)} is found as ${JSON.stringify(found)}`)
}

/** Looks whether it is there, whole; what had no answer is then made once more, and must be. */
async function judgeCreated(
  { client, journal, complain }: Around,
  deed: Deed,
  { look, isWhole }: { look: () => Promise<Reply>; isWhole: (reply: Reply) => boolean },
): Promise<void> {
  const reply = await look()
  const text = `${reply.status} ${JSON.stringify(reply.body)}`
  if (reply.status === 200) {
    if (!isWhole(reply)) complain(`${show(deed)} is there, but not whole: ${text}`)
  } else if (reply.status !== 404) complain(`${show(deed)} can't be looked at: ${text}`)
  else if (isAcknowledged(journal, deed)) complain(`${show(deed)} was acknowledged and is lost`)
  if (isAcknowledged(journal, deed)) return
  const again = await perform(client, deed)
  const expected = reply.status === 404 ? 200 : 409
  if (again.status !== expected) {
    complain(`${show(deed)}, asked for again, got ${again.status} and not ${expected}`)
  }
}

/** RFC 7523 §3 (7): what was used stays used. A token that was given stays good. */
async function judgeToken({ client, journal, complain }: Around, deed: Deed): Promise<void> {
  if (deed.kind !== "token") return
  const answer = journal.answers.get(deed)
  if (answer) {
    const bearer = { ...client, token: answer.body.access_token }
    const { status } = await call(bearer, "user.GetUserByID", { userId: client.key.userId })
    if (status !== 200) complain(`an acknowledged token is refused with ${status}`)
  } else await perform(client, deed)
  const { status } = await perform(client, deed)
  if (status !== 400) complain(`a used assertion got ${status}`)
}

/** The password that counts is the last acknowledged, or one on its way; never an earlier one. */
async function judgePassword({ client, journal, complain }: Around, deed: Deed): Promise<void> {
  if (deed.kind !== "password") return
  const isCurrent = async (currentPassword: string) => {
    const newPassword = { password: deed.password }
    const request = { userId: deed.id, currentPassword, newPassword }
    return (await call(client, "user.SetPassword", request)).status === 200
  }
  const former = await isCurrent(firstPassword)
  if (former && isAcknowledged(journal, deed)) {
    complain(`${show(deed)} was acknowledged, yet the former password counts`)
  }
  if (!(await isCurrent(deed.password))) complain(`${show(deed)}: neither password counts`)
}

/**
 * The newest token of a family is good, what it replaced is not: RFC 9700 §4.14.2. Judged once for
 * each family, with its last use. A use that had no answer may have made a token that nobody has.
 */
async function judgeRefresh({ client, journal, complain }: Around, deed: Deed): Promise<void> {
  if (deed.kind !== "refresh") return
  const answer = journal.answers.get(deed)
  if (!answer) return
  const { clientId, token: replaced } = deed
  const token = String(answer.body.refresh_token)
  const isTheirs = (each: Deed) => each.kind === "refresh" && each.token === token
  if (journal.sent.some((each) => each !== deed && isTheirs(each))) return
  const use = async (of: string) =>
    (await perform(client, { kind: "refresh", clientId, token: of })).status
  const status = await use(token)
  if (status !== 200) complain(`an acknowledged refresh token is refused with ${status}`)
  const again = await use(replaced)
  if (again !== 400) complain(`a replaced refresh token got ${again}`)
  const after = await use(token)
  if (after !== 400) complain(`a family whose token came twice got ${after}`)
}

const show = (deed: Deed) => ("id" in deed ? `${deed.kind} ${deed.id}` : `a ${deed.kind}`)
