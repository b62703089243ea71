import { lazyRouteComponent } from "@tanstack/react-router"
import type { FindingOfApplication } from "../refused-request/refused-list.tsx"
import { PagePart } from "../shell/index.ts"

// Loaded when shown, because they import the application descriptors, which few errors need.
const AddRedirectUri = lazyRouteComponent(() => import("./add-redirect-uri.tsx"), "AddRedirectUri")
const RegisterResource = lazyRouteComponent(
  () => import("./register-resource.tsx"),
  "RegisterResource",
)

/** Offers to register what a rejected request contained but the application lacks. */
export function RefusalRemedy({ finding, applicationId }: FindingOfApplication) {
  const { subject, received, likelyCauseKey } = finding
  return (
    <>
      {subject === "redirect_uri" && received && (
        <PagePart rows={1}>
          <AddRedirectUri applicationId={applicationId} uri={received} />
        </PagePart>
      )}
      {likelyCauseKey === "resource.unknown" && (
        <PagePart rows={1}>
          <RegisterResource applicationId={applicationId} uri={received} />
        </PagePart>
      )}
    </>
  )
}
