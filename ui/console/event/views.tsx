import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Table } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Section, t, useRead } from "../shell/index.ts"

/**
 * What lists are read from, and up to which event each has it. A view has the rows of all
 * instances, so that only a system user may have one made anew (`ClearView`), who has no console.
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
