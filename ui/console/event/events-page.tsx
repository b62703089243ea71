import {
  type Timestamp,
  timestampFromDate,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt"
import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Event } from "../../../src/gen/core/event/v1/event_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button, Check, type Column, Skeleton, Table } from "../../kit/index.ts"
import { Editor, type ListState, Time, useFilterChips, useListState } from "../list/index.ts"
import {
  Facts,
  language,
  Page,
  PagePart,
  RefusalAlert,
  refusalOf,
  t,
  transport,
} from "../shell/index.ts"
import { displayNameOf } from "../user/user.ts"
import { FailedEvents } from "./failed-events.tsx"
import { Filters } from "./filters.tsx"
import { Views } from "./views.tsx"

const pageSize = 50
const pollMs = 2000

/** All events of the instance, with filters, sorting and live updates. */
export function EventsPage() {
  const state = useListState()
  const { get, set } = state
  const orders = ["newest", "oldest"] as const
  const { selected: order, filter } = useFilterChips("order", orders, (one) => t(`events.${one}`))
  const follows = order === "newest" && get("at") === undefined && get("follow") !== undefined
  const { data, error } = useQuery({
    ...createQueryOptions(
      AdminService.method.listEvents,
      { ...requestOf(state), asc: order === "oldest" },
      { transport },
    ),
    placeholderData: keepPreviousData,
    refetchInterval: follows ? pollMs : false,
  })
  const found = data?.events ?? []
  const rows = found.slice(0, pageSize)
  const names = useNames(rows)
  const next = found.length > pageSize ? rows.at(-1)?.sequence : undefined
  return (
    <Page title={t("nav.events")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("events.lead")}</p>
      <PagePart>
        <FailedEvents />
      </PagePart>
      <PagePart rows={2}>
        <Filters
          key={JSON.stringify(requestOf(state), bigintReplacer)}
          state={state}
          names={names}
        />
      </PagePart>
      <div className="list-tools">
        {filter.filters}
        {order === "newest" && get("at") === undefined && (
          <Check
            label={t("events.follow")}
            checked={follows}
            onChange={(on) => set({ follow: on ? "1" : undefined }, "quietly")}
          />
        )}
      </div>
      <RefusalAlert refusal={error ? refusalOf(error) : undefined} />
      {!data && !error && <Skeleton rows={6} label={t("list.loading")} />}
      {data && rows.length === 0 && <p className="quiet">{t("list.nothing")}</p>}
      {rows.length > 0 && (
        <Table
          caption={t("nav.events")}
          columns={eventColumns(names)}
          rows={rows}
          keyOf={({ sequence }) => String(sequence)}
        />
      )}
      <div className="list-foot">
        {get("at") !== undefined && (
          <Button small onClick={() => set({ at: undefined })}>
            {t("events.first")}
          </Button>
        )}
        {next !== undefined && (
          <Button small onClick={() => set({ at: String(next) })}>
            {t("list.next")}
          </Button>
        )}
      </div>
      <PagePart>
        <Views />
      </PagePart>
    </Page>
  )
}

const bigintReplacer = (_: string, value: unknown) =>
  typeof value === "bigint" ? String(value) : value

/** The request for the URL parameters; one extra row shows whether there are more. */
function requestOf({ get }: ListState) {
  const at = get("at") ?? ""
  const list = (text = "") => (text === "" ? [] : [text])
  return {
    limit: pageSize + 1,
    sequence: /^\d{1,15}$/.test(at) ? BigInt(at) : 0n,
    aggregateTypes: list(get("kind")),
    eventTypes: list(get("type")),
    aggregateId: get("id") ?? "",
    editorUserId: get("editor") ?? "",
    creationDateFilter: { case: "range", value: dayRange(get("since"), get("until")) } as const,
  }
}

/** A range of days in the time zone of this browser. */
function dayRange(since: string | undefined, until: string | undefined) {
  const [first, last] = [startOf(since), startOf(until)]
  last?.setDate(last.getDate() + 1)
  return {
    ...(first && { since: timestampFromDate(first) }),
    ...(last && { until: timestampFromMs(last.getTime() - 1) }),
  }
}

function startOf(day: string | undefined): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day ?? "")) return undefined
  const start = new Date(`${day}T00:00`)
  return Number.isNaN(start.getTime()) ? undefined : start
}

/** Current names of users and resources by ID, as far as the caller can read them. */
function useNames(events: readonly Event[]): ReadonlyMap<string, string> {
  const ofUsers = events.filter(({ aggregate }) => aggregate?.type?.type === "user")
  const userIds = [...new Set(ofUsers.flatMap(({ aggregate }) => aggregate?.id ?? []))]
  const { data } = useQuery({
    ...createQueryOptions(
      UserService.method.listUsers,
      { queries: [{ query: { case: "inUserIdsQuery", value: { userIds } } }] },
      { transport },
    ),
    enabled: userIds.length > 0,
    placeholderData: keepPreviousData,
  })
  const named = [
    ...events.flatMap(({ aggregate, editor }) => [
      [aggregate?.id ?? "", aggregate?.displayName ?? ""] as const,
      [editor?.userId ?? "", editor?.displayName ?? ""] as const,
    ]),
    ...(data?.result ?? []).map((user) => [user.userId, displayNameOf(user)] as const),
  ]
  return new Map(named.filter(([id, name]) => id !== "" && name !== ""))
}

const eventColumns = (names: ReadonlyMap<string, string>): readonly Column<Event>[] => [
  {
    label: t("history.what"),
    cell: (event) => (
      <div className="call">
        <span>{event.type?.localized?.localizedMessage}</span>
        <code className="small">{event.type?.type}</code>
        <EventDetails {...event} />
      </div>
    ),
  },
  {
    label: t("events.to"),
    cell: ({ aggregate }) => (
      <div className="call">
        <span className="quiet small">{aggregate?.type?.localized?.localizedMessage}</span>
        <ResourceName id={aggregate?.id ?? ""} names={names} />
      </div>
    ),
  },
  { label: t("history.who"), cell: ({ editor }) => editor?.userId && <Editor {...editor} /> },
  { label: t("history.when"), cell: ({ creationDate }) => <EventTime at={creationDate} /> },
]

type ResourceNameProps = { readonly id: string; readonly names: ReadonlyMap<string, string> }

/** A name or a custom ID; generated IDs are among the details. */
function ResourceName({ id, names }: ResourceNameProps) {
  const name = names.get(id)
  if (name !== undefined) return <bdi className="clip">{name}</bdi>
  return /^\d+$/.test(id) ? null : <code className="small">{id}</code>
}

/** Date and time, with the relative time. */
function EventTime({ at }: { readonly at: Timestamp | undefined }) {
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
  return (
    <div className="call">
      <span>{at && format.format(timestampMs(at))}</span>
      <span className="quiet small">
        <Time at={at} />
      </span>
    </div>
  )
}

/** The IDs and the payload of an event. */
function EventDetails({ aggregate, editor, sequence, payload }: Event) {
  const ids = [
    [t("events.resource_id"), aggregate?.id],
    [t("events.editor_id"), editor?.userId],
    [t("events.position"), String(sequence)],
  ] as const
  return (
    <details className="small">
      <summary>{t("events.details")}</summary>
      <Facts
        rows={ids
          .filter(([, id]) => id)
          .map(([label, id]) => [label, <code key={label}>{id}</code>] as const)}
      />
      {payload && Object.keys(payload).length > 0 && (
        <pre className="snippet">
          <code>{JSON.stringify(payload, null, 2)}</code>
        </pre>
      )}
    </details>
  )
}
