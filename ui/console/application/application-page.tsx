import { lazyRouteComponent, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DeleteSection, renamed } from "../form/index.ts"
import { dateFacts, History, StateBadge } from "../list/index.ts"
import { call, copied, FactsSection, Page, Part, t, useBelongsTo, useRead } from "../shell/index.ts"
import { ApiProof, ApiResources, methodOf } from "./api.tsx"
import { ApiScopes } from "./api-scopes.tsx"
import { isActive, kindOf } from "./application-list.tsx"
import { ComplianceProblems } from "./compliance-problems.tsx"
import { Flows } from "./flows.tsx"
import { Keys } from "./keys.tsx"
import { authOf } from "./protocol.ts"
import { ProxyRules } from "./proxy-rules.tsx"
import { RedirectUris } from "./redirect-uris.tsx"
import { RefusedRequests } from "./refused-requests.tsx"
import { type CreatedSecret, Secrets } from "./secrets.tsx"
import { SignOut } from "./sign-out.tsx"
import { Tokens } from "./tokens.tsx"
import type { ApplicationPart } from "./update-application.ts"
import { UsageAdvice, UsedThisWeek } from "./usage.tsx"

// What stands further down, or is seldom opened, is loaded once the page stands.
const Connect = lazyRouteComponent(() => import("./connect.tsx"), "Connect")
const SamlAssertions = lazyRouteComponent(() => import("./saml-attributes.tsx"), "SamlAssertions")

const { getApplication, updateApplication, deleteApplication } = ApplicationService.method
const { deactivateApplication, reactivateApplication } = ApplicationService.method

export function ApplicationPage() {
  const { applicationId } = useParams({ from: "/applications/$applicationId" })
  const { application } = useRead(getApplication, { applicationId })
  return application ? <Inside application={application} /> : null
}

function Inside({ application }: ApplicationPart) {
  const { applicationId, projectId, name } = application
  const { project } = useRead(ProjectService.method.getProject, { projectId })
  useBelongsTo(project?.organizationId)
  const crumbs = [
    { label: t("nav.projects"), link: { to: "/projects" } },
    {
      label: project?.name ?? projectId,
      link: { to: "/projects/$projectId", params: { projectId } },
    },
  ] as const
  return (
    <Page
      title={name}
      crumbs={crumbs}
      badge={<State application={application} />}
      actions={<Activation application={application} />}
      scope={{ held: projectId }}
    >
      <Protocol application={application} />
      <RefusedRequests application={application} />
      <About application={application} />
      <History of={{ case: "applicationId", value: applicationId }} />
      <DeleteSection
        family="applications"
        name={name}
        by={deleteApplication}
        of={{ applicationId, projectId }}
        to={{ to: "/projects/$projectId", params: { projectId } }}
      />
    </Page>
  )
}

/** What an application is in OAuth's words, the everyday first. */
function Protocol(part: ApplicationPart) {
  const { configuration } = part.application
  const [secret, setSecret] = useState<CreatedSecret | undefined>(undefined)
  const connect = (
    <Part rows={5}>
      <Connect {...part} secret={secret?.secret} />
    </Part>
  )
  if (configuration.case === "samlConfiguration") {
    return (
      <>
        {connect}
        <Part rows={5}>
          <SamlAssertions {...part} saml={configuration.value} />
        </Part>
      </>
    )
  }
  const secrets = <Secrets {...part} made={secret} onMade={setSecret} />
  if (configuration.case === "apiConfiguration") {
    const api = configuration.value
    return (
      <>
        {connect}
        <ApiProof {...part} api={api} />
        <ApiResources {...part} api={api} />
        <ApiScopes {...part} api={api} />
        {proofs[methodOf(api)] === "secret" && secrets}
        <Keys {...part} />
      </>
    )
  }
  if (configuration.case !== "oidcConfiguration") return null
  const oidc = configuration.value
  const proof = proofs[authOf(oidc)]
  return (
    <>
      <ComplianceProblems oidc={oidc} />
      <Part rows={0}>
        <UsageAdvice {...part} oidc={oidc} />
      </Part>
      {connect}
      <ProxyRules {...part} oidc={oidc} />
      <RedirectUris {...part} oidc={oidc} />
      <Flows {...part} oidc={oidc} />
      <Tokens {...part} oidc={oidc} />
      {proof === "secret" && secrets}
      {proof !== "none" && <Keys {...part} />}
      <SignOut {...part} oidc={oidc} />
    </>
  )
}

const proofs = { basic: "secret", post: "secret", private_key_jwt: "key", none: "none" } as const

function State({ application }: ApplicationPart) {
  return (
    <>
      <Badge>{t(`kind.${kindOf(application)}`)}</Badge>
      <StateBadge isOn={isActive(application)} />
    </>
  )
}

function Activation({ application }: ApplicationPart) {
  const { applicationId, projectId, name } = application
  return (
    <ActivationButton
      on={reactivateApplication}
      off={deactivateApplication}
      what={name}
      of={{ applicationId, projectId }}
      isOn={isActive(application)}
      consequence={
        <>
          <p>{t("applications.deactivate_text")}</p>
          <Part rows={1}>
            <UsedThisWeek applicationId={applicationId} />
          </Part>
        </>
      }
    />
  )
}

function About({ application }: ApplicationPart) {
  const { applicationId, projectId, name } = application
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        renamed(t("field.name"), name, updateApplication, (to) =>
          call(updateApplication, { applicationId, projectId, name: to }),
        ),
        copied(t("field.application_id"), applicationId),
        ...dateFacts(application),
      ]}
    />
  )
}
