import { lazyRouteComponent } from "@tanstack/react-router"
import type { FindingOfApplication } from "../refused-request/refused-list.tsx"
import { Part } from "../shell/index.ts"

// Loaded when shown: they have the descriptors of applications, and few refusals need them.
const AddRedirectUri = lazyRouteComponent(() => import("./add-redirect-uri.tsx"), "AddRedirectUri")
const RegisterResource = lazyRouteComponent(
  () => import("./register-resource.tsx"),
  "RegisterResource",
)

/** Offers to register what a refused request contained and the application does not have. */
export function RefusalRemedy({ finding, applicationId }: FindingOfApplication) {
  const { subject, received, likelyCauseKey } = finding
  return (
    <>
      {subject === "redirect_uri" && received && (
        <Part rows={1}>
          <AddRedirectUri applicationId={applicationId} uri={received} />
        </Part>
      )}
      {likelyCauseKey === "resource.unknown" && (
        <Part rows={1}>
          <RegisterResource applicationId={applicationId} uri={received} />
        </Part>
      )}
    </>
  )
}
