import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  integer,
  perInstance,
  type RowOf,
  search,
  statement,
  type Transaction,
  table,
  text,
  view,
  wordList,
} from "../../store/index.ts"
import { type AppEvent, app } from "../app/index.ts"
import { instance, requireInstance } from "../instance/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user-model/index.ts"

const dayMs = 86_400_000

/** How an application requests sign-ins. */
export type SignInUse = {
  /** Whether it requested profile claims. */
  readonly profile: boolean
  /** Requested scopes that were not granted. */
  readonly dropped: readonly string[]
}

export type UseEvent = Event<
  "application.used",
  {
    readonly userId: string
    readonly appId: string
    readonly projectId: string
    /** Absent if no sign-in was recorded, and in older events. */
    readonly signIn?: SignInUse
    /** Whether the application read the user's claims from userinfo or by introspection. */
    readonly claimsRead?: true
  }
>

type Use = { readonly last: number; readonly dropped: readonly string[] }

/** When a user last used an application, rounded to the day; each pair has its own stream. */
export const applicationUse = aggregate<UseEvent, Use>({
  stream: "app_use",
  retention: "transient",
  expires: ({ last }) => last + 90 * dayMs,
  revision: 2,
  initial: { last: 0, dropped: [] },
  evolve: {
    "application.used": ({ dropped }, { data: { signIn }, time }) => ({
      last: time,
      dropped: signIn?.dropped ?? dropped,
    }),
  },
})

/** The stream ID of a user's use of an application. */
export const applicationUseId = (userId: string, appId: string): string => `${userId}/${appId}`

/**
 * Records that a user receives a token for an application, at most once a day unless a sign-in
 * drops different scopes than the last one. Only for instances that record issued tokens; not for
 * the console. Part of the transaction that issues the token.
 */
export function recordApplicationUse(
  tx: Transaction,
  userId: string,
  appId: string,
  latestSignIn?: SignInUse,
): void {
  const signIn = latestSignIn && { ...latestSignIn, dropped: limitScopes(latestSignIn.dropped) }
  const { last, dropped } = tx.state(applicationUse, applicationUseId(userId, appId))
  const isSame = signIn === undefined || signIn.dropped.join(" ") === dropped.join(" ")
  if (isSame && tx.now < last + dayMs) return
  appendUse(tx, { userId, appId, ...(signIn && { signIn }) })
}

/** Limited, because clients can request arbitrary scopes. */
const limitScopes = (scopes: readonly string[]): readonly string[] =>
  scopes.slice(0, 20).map((scope) => scope.slice(0, 100))

function appendUse(tx: Transaction, useData: Omit<UseEvent["data"], "projectId">): void {
  const { oidc, projectId: own } = tx.state(instance, tx.instance)
  if (!oidc.tokenAudit.people) return
  const { userId, appId } = useData
  const on = tx.state(app, appId)
  if (!("projectId" in on) || on.projectId === own) return
  const event: Draft<UseEvent> = {
    type: "application.used",
    data: { ...useData, projectId: on.projectId },
  }
  tx.append(applicationUse, applicationUseId(userId, appId), [event], tx.owner(app, appId))
}

/**
 * Records that an application reads claims, at most once a week for all its users, under the
 * conditions of `recordApplicationUse`. If the record can't be stored, the request still succeeds,
 * and a later one retries.
 */
export async function recordClaimsRead(cx: Cx, userId: string, appId: string): Promise<void> {
  const lastReadTimes = lastReads(cx)
  const now = cx.clock.now()
  const last = lastReadTimes.get(appId) ?? cx.store.get(cx, lastRead, { appId })?.time ?? 0
  lastReadTimes.set(appId, last)
  if (now < last + weekMs || !requireInstance(cx).oidc.tokenAudit.people) return
  // Set before the transaction, so that concurrent requests don't record it again.
  lastReadTimes.set(appId, now)
  try {
    await cx.store.transact(cx, (tx) => appendUse(tx, { userId, appId, claimsRead: true }))
  } catch (cause) {
    lastReadTimes.set(appId, now - weekMs + retryMs)
    if (!(cause instanceof Fault && cause.code === "unavailable")) throw cause
  }
}

const weekMs = 7 * dayMs
const retryMs = 60_000

/** By application ID, ms UTC; checked by every request for claims. */
const lastReads = perInstance(() => lru<number>(4096))

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
    /** When a sign-in last requested the profile; 0 if never. */
    profile: integer(),
    claims_read: integer(),
    signed_in: integer(),
    /** Scopes that the last sign-in requested and did not receive. */
    dropped: wordList(),
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

/** How the application requested its latest sign-ins. */
export function usageOf(cx: Cx, appId: string) {
  const read = cx.store.get(cx, lastRead, { appId })?.time ?? 0
  const profile = cx.store.get(cx, lastProfile, { appId })?.time ?? 0
  // Earlier sign-ins may predate a change to the application.
  const since = (cx.store.get(cx, lastSignIn, { appId })?.time ?? 0) - dayMs
  const rows = cx.store.all(cx, latestDropped, { appId, since })
  return {
    /** Requested scopes that were not granted. */
    dropped: [...new Set(rows.flatMap(({ dropped }) => dropped))],
    /** Whether it requests the profile but reads it from the ID token at most. */
    isProfileUnread: profile > 0 && profile > read + 2 * weekMs,
  }
}

export type UseRow = RowOf<typeof useTable> & { readonly app_name: string }

const useById = useTable.select(["profile", "claims_read", "signed_in", "dropped"], "AND id = $id")

export const applicationUseView = view<UseEvent | AppEvent | ProjectEvent | UserEvent>({
  name: "app_use",
  revision: 2,
  tables: [useTable],
  on: {
    "application.used": (db, { id, owner, data, time }) => {
      const { userId, appId, projectId, signIn, claimsRead } = data
      const used = db.get(useById)
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
  onPruned: { app_use: (db, { id }) => useTable.remove(db, { id }) },
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

type SearchUsesOptions = {
  readonly page: Page
  /** Empty strings match all. */
  readonly userId: string
  readonly appId: string
  /** ms UTC. */
  readonly since: number
}

/** Who used which application since when, limited to applications that the caller can see. */
export const searchUses = (
  cx: Cx,
  { page, userId, appId, since }: SearchUsesOptions,
): Promise<SearchResult<UseRow>> =>
  search<UseRow>(cx, applicationUses, {
    page,
    filters: [
      ...(userId ? [{ equals: "user_id", value: userId }] : []),
      ...(appId ? [{ equals: "app", value: appId }] : []),
      ...(since ? [{ compare: "last", by: ">=", value: since } as const] : []),
    ],
  })
