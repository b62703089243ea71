import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Table } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Section, t, useRead } from "../shell/index.ts"

/**
 * The read models and their positions. A view contains the rows of all instances, so only a system
 * user can rebuild it (`ClearView`), which is not possible in the console.
 */
export function Views() {
  const { result } = useRead(AdminService.method.listViews)
  return (
    <Section title={t("views.title")}>
      <p className="quiet section-lead">{t("views.lead")}</p>
      <Table
        caption={t("views.title")}
        columns={[
          { label: t("views.name"), cell: ({ viewName }) => <code>{viewName}</code> },
          {
            label: t("events.position"),
            cell: ({ processedSequence }) => String(processedSequence),
          },
          { label: t("views.last"), cell: ({ eventTimestamp }) => <Time at={eventTimestamp} /> },
        ]}
        rows={result}
        keyOf={({ viewName }) => viewName}
      />
    </Section>
  )
}
