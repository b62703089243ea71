import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { IfPermitted, Page, PagePart, t } from "../shell/index.ts"
import { ExportSection } from "./export.tsx"
import { ImportSection } from "./import.tsx"

const { exportData, importData } = AdminService.method

/** Export and import of organizations with all their data. */
export function TransferPage() {
  return (
    <Page title={t("nav.transfer")} owner={t("nav.instance")} narrow>
      <p className="quiet section-lead">{t("transfer.lead")}</p>
      <PagePart rows={2}>
        <IfPermitted needs={exportData}>
          <ExportSection />
        </IfPermitted>
      </PagePart>
      <PagePart rows={2}>
        <IfPermitted needs={importData}>
          <ImportSection />
        </IfPermitted>
      </PagePart>
    </Page>
  )
}
