import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  integer,
  ofInstance,
  type RowOf,
  search,
  statement,
  type Transaction,
  table,
  text,
  view,
  words,
} from "../../store/index.ts"
import { type AppEvent, app } from "../app/index.ts"
import { instance, requireInstance } from "../instance/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user-model/index.ts"

const day = 86_400_000

/** What a sign-in shows of how its application is set up. */
export type SignInUse = {
  /** Whether it requested the claims of the user's profile. */
  readonly profile: boolean
  /** Scopes that it requested and that were not granted. */
  readonly dropped: readonly string[]
}

export type UseEvent = Event<
  "application.used",
  {
    readonly userId: string
    readonly appId: string
    readonly projectId: string
    /** Absent where no sign-in was noted, and in events from before. */
    readonly signIn?: SignInUse
    /** Whether the application read the user's claims at userinfo or by introspection. */
    readonly claimsRead?: true
  }
>

type Use = { readonly last: number; readonly dropped: readonly string[] }

/** When somebody last used an application, to the day: each pair of both is a stream. */
export const applicationUse = aggregate<UseEvent, Use>({
  stream: "app_use",
  retention: "transient",
  expires: ({ last }) => last + 90 * day,
  revision: 2,
  initial: { last: 0, dropped: [] },
  evolve: {
    "application.used": ({ dropped }, { data: { signIn }, time }) => ({
      last: time,
      dropped: signIn?.dropped ?? dropped,
    }),
  },
})

/** The stream of a person's use of an application. */
export const pairId = (userId: string, appId: string): string => `${userId}/${appId}`

/**
 * Notes that a person gets a token for an application, at most once a day unless a sign-in drops
 * other scopes than the last, where the instance wants to know who got tokens at all; of the
 * console, nobody asks. Part of the step that issues it.
 */
export function noteUse(tx: Transaction, userId: string, appId: string, given?: SignInUse): void {
  const signIn = given && { ...given, dropped: shortened(given.dropped) }
  const { last, dropped } = tx.state(applicationUse, pairId(userId, appId))
  const isSame = signIn === undefined || signIn.dropped.join(" ") === dropped.join(" ")
  if (isSame && tx.now < last + day) return
  note(tx, { userId, appId, ...(signIn && { signIn }) })
}

/** Whoever signs in can send any words. */
const shortened = (scopes: readonly string[]): readonly string[] =>
  scopes.slice(0, 20).map((scope) => scope.slice(0, 100))

function note(tx: Transaction, shown: Omit<UseEvent["data"], "projectId">): void {
  const { oidc, projectId: own } = tx.state(instance, tx.instance)
  if (!oidc.tokenAudit.people) return
  const { userId, appId } = shown
  const on = tx.state(app, appId)
  if (!("projectId" in on) || on.projectId === own) return
  const event: Draft<UseEvent> = {
    type: "application.used",
    data: { ...shown, projectId: on.projectId },
  }
  tx.append(applicationUse, pairId(userId, appId), [event], tx.owner(app, appId))
}

/**
 * Notes that an application reads the claims of one of its users, at most once a week for all of
 * them, on the conditions of `noteUse`. Where nothing can be saved, claims can still be read: the
 * note is tried again later.
 */
export async function noteClaimsRead(cx: Cx, userId: string, appId: string): Promise<void> {
  const known = lastReads(cx)
  const now = cx.clock.now()
  const last = known.get(appId) ?? cx.store.get(cx, lastRead, { appId })?.time ?? 0
  known.set(appId, last)
  if (now < last + week || !requireInstance(cx).oidc.tokenAudit.people) return
  // Before the step: of the requests that come meanwhile, none notes it once more.
  known.set(appId, now)
  try {
    await cx.store.transact(cx, (tx) => note(tx, { userId, appId, claimsRead: true }))
  } catch (cause) {
    known.set(appId, now - week + retryMs)
    if (!(cause instanceof Fault && cause.code === "unavailable")) throw cause
  }
}

const week = 7 * day
const retryMs = 60_000

/** By the id of the application, ms UTC; every request for claims asks. */
const lastReads = ofInstance(() => lru<number>(4096))

const lastRead = statement<{ time: number | null }>(
  "SELECT max(claims_read) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)
const lastProfile = statement<{ time: number | null }>(
  "SELECT max(profile) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)
const lastSignIn = statement<{ time: number | null }>(
  "SELECT max(signed_in) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)

const useTable = table(
  "app_uses",
  {
    id: text(),
    user_id: text(),
    app: text(),
    project: text(),
    org: text(),
    last: integer(),
    /** When a sign-in last requested the profile; 0 for never. */
    profile: integer(),
    claims_read: integer(),
    signed_in: integer(),
    /** Scopes that the last sign-in requested and that were not granted. */
    dropped: words(),
  },
  {
    key: ["id"],
    indexes: {
      user: ["user_id"],
      app: ["app", "last"],
      project: ["project", "last"],
      org: ["org", "last"],
      last: ["last"],
      profile: ["app", "profile"],
      claims_read: ["app", "claims_read"],
      signed_in: ["app", "signed_in"],
    },
  },
)

const latestDropped = useTable.select(
  ["dropped"],
  "AND app = $appId AND signed_in > $since ORDER BY signed_in DESC LIMIT 100",
)

/** What the latest sign-ins show of an application. */
export function usageOf(cx: Cx, appId: string) {
  const read = cx.store.get(cx, lastRead, { appId })?.time ?? 0
  const profile = cx.store.get(cx, lastProfile, { appId })?.time ?? 0
  // Earlier ones may be from before the application was corrected.
  const since = (cx.store.get(cx, lastSignIn, { appId })?.time ?? 0) - day
  const rows = cx.store.all(cx, latestDropped, { appId, since })
  return {
    /** Scopes that it requested and that were not granted. */
    dropped: [...new Set(rows.flatMap(({ dropped }) => dropped))],
    /** Whether it requests the profile and reads it at most in the ID token. */
    isProfileUnread: profile > 0 && profile > read + 2 * week,
  }
}

export type UseRow = RowOf<typeof useTable> & { readonly app_name: string }

const before = useTable.select(["profile", "claims_read", "signed_in", "dropped"], "AND id = $id")

export const applicationUseView = view<UseEvent | AppEvent | ProjectEvent | UserEvent>({
  name: "app_use",
  revision: 2,
  tables: [useTable],
  on: {
    "application.used": (db, { id, owner, data, time }) => {
      const { userId, appId, projectId, signIn, claimsRead } = data
      const used = db.get(before)
      const latest = (earlier: number | undefined, isNow: boolean | undefined) =>
        Math.max(earlier ?? 0, isNow ? time : 0)
      const row = {
        id,
        user_id: userId,
        app: appId,
        project: projectId,
        org: owner,
        last: time,
        profile: latest(used?.profile, signIn?.profile),
        claims_read: latest(used?.claims_read, claimsRead),
        signed_in: latest(used?.signed_in, signIn !== undefined),
        dropped: signIn?.dropped ?? used?.dropped ?? [],
      }
      useTable.upsert(db, row, ["last", "profile", "claims_read", "signed_in", "dropped"])
    },
    "project.application.removed": (db, { id: app }) => useTable.remove(db, { app }),
    "project.removed": (db, { id: project }) => useTable.remove(db, { project }),
    "user.removed": (db, { id }) => useTable.remove(db, { user_id: id }),
  },
  dropped: { app_use: (db, { id }) => useTable.remove(db, { id }) },
})

const applicationUses = useTable.searchable({
  columns: ["user_id", "app", "project", "org", "last"],
  joined: {
    select: "a.name AS app_name",
    from: "JOIN apps a ON a.instance = t.instance AND a.id = t.app",
    columns: [],
  },
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "last",
})

type Wanted = {
  readonly page: Page
  /** Empty texts stand for any. */
  readonly userId: string
  readonly appId: string
  /** ms UTC. */
  readonly since: number
}

/** Who used what since when, of the applications that the caller may see. */
export const searchUses = (
  cx: Cx,
  { page, userId, appId, since }: Wanted,
): Promise<Found<UseRow>> =>
  search<UseRow>(cx, applicationUses, {
    page,
    filters: [
      ...(userId ? [{ equals: "user_id", value: userId }] : []),
      ...(appId ? [{ equals: "app", value: appId }] : []),
      ...(since ? [{ compare: "last", by: ">=", value: since } as const] : []),
    ],
  })
