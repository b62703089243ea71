import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Event } from "../../../src/gen/core/event/v1/event_pb.ts"
import { Button, Check, type Column, Skeleton, Table } from "../../kit/index.ts"
import { Editor, type ListState, Time, useFilterChips, useListState } from "../list/index.ts"
import { Page, Part, Refused, refusalOf, t, transport } from "../shell/index.ts"
import { FailedEvents } from "./failed-events.tsx"
import { Filters } from "./filters.tsx"
import { Views } from "./views.tsx"

const pageSize = 50
const followMs = 2000

/** All that happened on the instance: narrowed, either way round, and as it comes. */
export function EventsPage() {
  const state = useListState()
  const { get, set } = state
  const orders = ["newest", "oldest"] as const
  const { chosen: order, filter } = useFilterChips("order", orders, (one) => t(`events.${one}`))
  const follows = order === "newest" && get("at") === undefined && get("follow") !== undefined
  const { data, error } = useQuery({
    ...createQueryOptions(
      AdminService.method.listEvents,
      { ...wantedOf(state), asc: order === "oldest" },
      { transport },
    ),
    placeholderData: keepPreviousData,
    refetchInterval: follows ? followMs : false,
  })
  const found = data?.events ?? []
  const rows = found.slice(0, pageSize)
  const next = found.length > pageSize ? rows.at(-1)?.sequence : undefined
  return (
    <Page title={t("nav.events")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("events.lead")}</p>
      <Part>
        <FailedEvents />
      </Part>
      <Part rows={2}>
        <Filters key={JSON.stringify(wantedOf(state), textOfNumber)} state={state} />
      </Part>
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
      <Refused refusal={error ? refusalOf(error) : undefined} />
      {!data && !error && <Skeleton rows={6} label={t("list.loading")} />}
      {data && rows.length === 0 && <p className="quiet">{t("list.nothing")}</p>}
      {rows.length > 0 && (
        <Table
          caption={t("nav.events")}
          columns={columnsOf()}
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
      <Part>
        <Views />
      </Part>
    </Page>
  )
}

const textOfNumber = (_: string, value: unknown) =>
  typeof value === "bigint" ? String(value) : value

/** What the address asks for; one more than is shown tells whether there are more. */
function wantedOf({ get }: ListState) {
  const at = get("at") ?? ""
  const list = (text = "") => (text === "" ? [] : [text])
  return {
    limit: pageSize + 1,
    sequence: /^\d{1,15}$/.test(at) ? BigInt(at) : 0n,
    aggregateTypes: list(get("kind")),
    eventTypes: list(get("type")),
    aggregateId: get("id") ?? "",
    editorUserId: get("editor") ?? "",
  }
}

const columnsOf = (): readonly Column<Event>[] => [
  {
    label: t("history.what"),
    cell: ({ type, payload }) => {
      return (
        <div className="call">
          <span>{type?.localized?.localizedMessage}</span>
          <code className="small">{type?.type}</code>
          {payload && Object.keys(payload).length > 0 && (
            <details className="small">
              <summary>{t("events.payload")}</summary>
              <pre className="snippet">
                <code>{JSON.stringify(payload, null, 2)}</code>
              </pre>
            </details>
          )}
        </div>
      )
    },
  },
  {
    label: t("events.to"),
    cell: ({ aggregate }) => (
      <div className="call">
        <span>{aggregate?.type?.localized?.localizedMessage}</span>
        <code className="small">{aggregate?.id}</code>
      </div>
    ),
  },
  { label: t("history.who"), cell: ({ editor }) => editor?.userId && <Editor {...editor} /> },
  { label: t("history.when"), cell: ({ creationDate }) => <Time at={creationDate} /> },
  { label: t("events.position"), cell: ({ sequence }) => String(sequence) },
]
