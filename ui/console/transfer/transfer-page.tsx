import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { May, Page, Part, t } from "../shell/index.ts"
import { ExportSection } from "./export.tsx"
import { ImportSection } from "./import.tsx"

const { exportData, importData } = AdminService.method

/** Organisations with everything in them, to a file and from one. */
export function TransferPage() {
  return (
    <Page title={t("nav.transfer")} owner={t("nav.instance")} narrow>
      <p className="quiet section-lead">{t("transfer.lead")}</p>
      <Part rows={2}>
        <May needs={exportData}>
          <ExportSection />
        </May>
      </Part>
      <Part rows={2}>
        <May needs={importData}>
          <ImportSection />
        </May>
      </Part>
    </Page>
  )
}
