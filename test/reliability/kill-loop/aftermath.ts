import {
  type Client,
  call,
  firstPassword,
  isAcknowledged,
  type Journal,
  type Reply,
  sendWrite,
  type WriteRequest,
} from "../../support/load.ts"

/**
 * Compares the server with the journal: acknowledged means present; not acknowledged means absent
 * or completely present. Returns the errors. Requests without a response are repeated.
 */
export async function checkAftermath(client: Client, journal: Journal): Promise<readonly string[]> {
  const complaints: string[] = []
  const around = { client, journal, complain: (text: string) => void complaints.push(text) }
  // A connection from before the restart may fail once; from here on every request must be
  // answered.
  await call(client, "user.ListUsers", { query: { limit: 1 } }).catch(() => undefined)
  for (const [deed, { status, body }] of journal.answers) {
    if (status !== 200)
      around.complain(`${describeDeed(deed)} got ${status}: ${JSON.stringify(body)}`)
  }
  await runParallel(journal.sent, (deed) => deedChecks[deed.kind](around, deed))
  return complaints
}

type CheckContext = {
  readonly client: Client
  readonly journal: Journal
  readonly complain: (text: string) => void
}

/** Runs in parallel to keep the server busy and the checks fast. */
async function runParallel(
  deeds: readonly WriteRequest[],
  work: (deed: WriteRequest) => Promise<void> | void,
): Promise<void> {
  const waiting = deeds.values()
  const lane = async () => {
    for (const deed of waiting) await work(deed)
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

type DeedCheck = (around: CheckContext, deed: WriteRequest) => Promise<void> | void

const deedChecks: Readonly<Record<WriteRequest["kind"], DeedCheck>> = {
  user: checkUser,
  project: (around, deed) =>
    deed.kind === "project"
      ? checkCreated(around, deed, {
          look: () => call(around.client, "project.GetProject", { projectId: deed.id }),
          isWhole: ({ body }) => body.project?.name === deed.name,
        })
      : undefined,
  app: (around, deed) =>
    deed.kind === "app"
      ? checkCreated(around, deed, {
          look: () => call(around.client, "application.GetApplication", { applicationId: deed.id }),
          isWhole: ({ body: { application } }) => {
            const given = around.journal.answers.get(deed)?.body.oidcConfiguration?.clientId
            const clientId = application?.oidcConfiguration?.clientId
            return application?.name === deed.name && clientId === (given ?? clientId)
          },
        })
      : undefined,
  token: checkToken,
  password: checkPassword,
  refresh: checkRefresh,
  // Checked with its user: a later name replaces an earlier one.
  rename: () => undefined,
}

async function checkUser(around: CheckContext, deed: WriteRequest): Promise<void> {
  if (deed.kind !== "user") return
  const { client, journal } = around
  const renames = journal.sent.filter((each) => each.kind === "rename" && each.id === deed.id)
  const lastKnown = renames.findLastIndex((each) => isAcknowledged(journal, each))
  const possible = renames.slice(Math.max(0, lastKnown))
  const names = [...(lastKnown < 0 ? [deed] : []), ...possible].map((each) =>
    each.kind === "rename" || each.kind === "user" ? each.name : "",
  )
  await checkCreated(around, deed, {
    look: () => call(client, "user.GetUserByID", { userId: deed.id }),
    isWhole: ({ body: { user } }) =>
      user?.username === deed.name &&
      names.includes(user.human?.profile?.givenName) &&
      user.human?.email?.email === `${deed.name}@example.com` &&
      user.human?.email?.isVerified === true &&
      // The password is a separate event of the same transaction.
      Boolean(user.human?.passwordChanged),
  })
  const named = { loginNameQuery: { loginName: deed.name } }
  const { body } = await call(client, "user.ListUsers", { queries: [named] })
  const found = (body.result ?? []).map((each: { readonly userId: string }) => each.userId)
  if (found.join() !== deed.id)
    around.complain(`${describeDeed(deed)} is found as ${JSON.stringify(found)}`)
}

/**
 * Checks that it is present completely; a request without a response is repeated, and must then
 * succeed.
 */
async function checkCreated(
  { client, journal, complain }: CheckContext,
  deed: WriteRequest,
  { look, isWhole }: { look: () => Promise<Reply>; isWhole: (reply: Reply) => boolean },
): Promise<void> {
  const reply = await look()
  const text = `${reply.status} ${JSON.stringify(reply.body)}`
  if (reply.status === 200) {
    if (!isWhole(reply)) complain(`${describeDeed(deed)} is there, but not whole: ${text}`)
  } else if (reply.status !== 404) complain(`${describeDeed(deed)} can't be read: ${text}`)
  else if (isAcknowledged(journal, deed))
    complain(`${describeDeed(deed)} was acknowledged and is lost`)
  if (isAcknowledged(journal, deed)) return
  const again = await sendWrite(client, deed)
  const expected = reply.status === 404 ? 200 : 409
  if (again.status !== expected) {
    complain(`${describeDeed(deed)}, asked for again, got ${again.status} and not ${expected}`)
  }
}

/** RFC 7523 §3 (7): a used assertion stays used. An issued token stays valid. */
async function checkToken(
  { client, journal, complain }: CheckContext,
  deed: WriteRequest,
): Promise<void> {
  if (deed.kind !== "token") return
  const answer = journal.answers.get(deed)
  if (answer) {
    const bearer = { ...client, token: answer.body.access_token }
    const { status } = await call(bearer, "user.GetUserByID", { userId: client.key.userId })
    if (status !== 200) complain(`an acknowledged token is refused with ${status}`)
  } else await sendWrite(client, deed)
  const { status } = await sendWrite(client, deed)
  if (status !== 400) complain(`a used assertion got ${status}`)
}

/** The valid password is the last acknowledged one, or one in flight; never an earlier one. */
async function checkPassword(
  { client, journal, complain }: CheckContext,
  deed: WriteRequest,
): Promise<void> {
  if (deed.kind !== "password") return
  const isCurrent = async (currentPassword: string) => {
    const newPassword = { password: deed.password }
    const request = { userId: deed.id, currentPassword, newPassword }
    return (await call(client, "user.SetPassword", request)).status === 200
  }
  const former = await isCurrent(firstPassword)
  if (former && isAcknowledged(journal, deed)) {
    complain(`${describeDeed(deed)} was acknowledged, yet the former password counts`)
  }
  if (!(await isCurrent(deed.password))) complain(`${describeDeed(deed)}: neither password counts`)
}

/**
 * The newest token of a family is valid, the replaced one is not: RFC 9700 §4.14.2. Checked once
 * per family, with its last use. A use without a response may have issued an unknown token.
 */
async function checkRefresh(
  { client, journal, complain }: CheckContext,
  deed: WriteRequest,
): Promise<void> {
  if (deed.kind !== "refresh") return
  const answer = journal.answers.get(deed)
  if (!answer) return
  const { clientId, token: replaced } = deed
  const token = String(answer.body.refresh_token)
  const isTheirs = (each: WriteRequest) => each.kind === "refresh" && each.token === token
  if (journal.sent.some((each) => each !== deed && isTheirs(each))) return
  const use = async (of: string) =>
    (await sendWrite(client, { kind: "refresh", clientId, token: of })).status
  const status = await use(token)
  if (status !== 200) complain(`an acknowledged refresh token is refused with ${status}`)
  const again = await use(replaced)
  if (again !== 400) complain(`a replaced refresh token got ${again}`)
  const after = await use(token)
  if (after !== 400) complain(`a family whose token came twice got ${after}`)
}

const describeDeed = (deed: WriteRequest) =>
  "id" in deed ? `${deed.kind} ${deed.id}` : `a ${deed.kind}`
