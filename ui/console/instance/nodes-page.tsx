import { timestampMs } from "@bufbuild/protobuf/wkt"
import { createQueryOptions } from "@connectrpc/connect-query"
import { useQuery } from "@tanstack/react-query"
import { HistoryService, type Node } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { Badge, type Column, Skeleton, Table } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Page, RefusalAlert, refusalOf, t, transport } from "../shell/index.ts"

const pollMs = 2000
/** Nodes report their position every second. */
const unreachableMs = 10_000

/** The nodes of the cluster, with their positions and the leader. */
export function NodesPage() {
  const { data, error } = useQuery({
    ...createQueryOptions(HistoryService.method.listNodes, {}, { transport }),
    refetchInterval: pollMs,
  })
  return (
    <Page title={t("nav.nodes")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("nodes.lead")}</p>
      <RefusalAlert refusal={error ? refusalOf(error) : undefined} />
      {!data && !error && <Skeleton rows={3} label={t("list.loading")} />}
      {data?.nodes.length === 0 && <p className="quiet">{t("nodes.alone")}</p>}
      {data && data.nodes.length > 0 && (
        <Table
          caption={t("nav.nodes")}
          columns={nodeColumns()}
          rows={data.nodes}
          keyOf={({ number }) => String(number)}
        />
      )}
    </Page>
  )
}

const nodeColumns = (): readonly Column<Node>[] => [
  {
    label: t("nodes.number"),
    cell: ({ number, isSelf }) => (
      <>
        {t("nodes.name", { number })} {isSelf && <Badge>{t("nodes.self")}</Badge>}
      </>
    ),
  },
  { label: t("nodes.does"), cell: nodeState },
  { label: t("nodes.position"), cell: ({ position }) => String(position) },
  { label: t("nodes.behind"), cell: ({ behind }) => String(behind) },
  { label: t("nodes.seen"), cell: ({ seen }) => <Time at={seen} /> },
  { label: t("nodes.version"), cell: ({ version }) => version },
]

function nodeState({ seen, works }: Node): string {
  if (seen && Date.now() - timestampMs(seen) > unreachableMs) return t("nodes.silent")
  return works ? t("nodes.works") : t("nodes.answers")
}
