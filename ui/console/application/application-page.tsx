import { lazyRouteComponent, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DeleteSection, renameRow } from "../form/index.ts"
import { dateRows, History, StateBadge } from "../list/index.ts"
import {
  call,
  copyableFact,
  FactsSection,
  Page,
  PagePart,
  t,
  useRead,
  useSelectOwner,
} from "../shell/index.ts"
import { ApiAuthentication, ApiResources, methodOf } from "./api.tsx"
import { ApiScopes } from "./api-scopes.tsx"
import { isActive, kindOf } from "./application-list.tsx"
import { ComplianceProblems } from "./compliance-problems.tsx"
import { Flows } from "./flows.tsx"
import { ApplicationKeys } from "./keys.tsx"
import { authOf } from "./protocol.ts"
import { ProxyRules } from "./proxy-rules.tsx"
import { RedirectUris } from "./redirect-uris.tsx"
import { RefusedRequests } from "./refused-requests.tsx"
import { type CreatedSecret, Secrets } from "./secrets.tsx"
import { SignOut } from "./sign-out.tsx"
import { Tokens } from "./tokens.tsx"
import type { ApplicationPart } from "./update-application.ts"
import { UsageAdvice, UsedThisWeek } from "./usage.tsx"

// Loaded after the page, because these sections are further down or rarely opened.
const Connect = lazyRouteComponent(() => import("./connect.tsx"), "Connect")
const SamlAssertions = lazyRouteComponent(() => import("./saml-attributes.tsx"), "SamlAssertions")

const { getApplication, updateApplication, deleteApplication } = ApplicationService.method
const { deactivateApplication, reactivateApplication } = ApplicationService.method

export function ApplicationPage() {
  const { applicationId } = useParams({ from: "/applications/$applicationId" })
  const { application } = useRead(getApplication, { applicationId })
  return application ? <ApplicationDetails application={application} /> : null
}

function ApplicationDetails({ application }: ApplicationPart) {
  const { applicationId, projectId, name } = application
  const { project } = useRead(ProjectService.method.getProject, { projectId })
  useSelectOwner(project?.organizationId)
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
      badge={<ApplicationState application={application} />}
      actions={<Activation application={application} />}
      scope={{ projectId: projectId }}
    >
      <Protocol application={application} />
      <RefusedRequests application={application} />
      <GeneralSettings application={application} />
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

/** The OAuth properties of an application, most common first. */
function Protocol(part: ApplicationPart) {
  const { configuration } = part.application
  const [secret, setSecret] = useState<CreatedSecret | undefined>(undefined)
  const connect = (
    <PagePart rows={5}>
      <Connect {...part} secret={secret?.secret} />
    </PagePart>
  )
  if (configuration.case === "samlConfiguration") {
    return (
      <>
        {connect}
        <PagePart rows={5}>
          <SamlAssertions {...part} saml={configuration.value} />
        </PagePart>
      </>
    )
  }
  const secrets = <Secrets {...part} created={secret} onCreated={setSecret} />
  if (configuration.case === "apiConfiguration") {
    const api = configuration.value
    return (
      <>
        {connect}
        <ApiAuthentication {...part} api={api} />
        <ApiResources {...part} api={api} />
        <ApiScopes {...part} api={api} />
        {authTexts[methodOf(api)] === "secret" && secrets}
        <ApplicationKeys {...part} />
      </>
    )
  }
  if (configuration.case !== "oidcConfiguration") return null
  const oidc = configuration.value
  const proof = authTexts[authOf(oidc)]
  return (
    <>
      <ComplianceProblems oidc={oidc} />
      <PagePart rows={0}>
        <UsageAdvice {...part} oidc={oidc} />
      </PagePart>
      {connect}
      <ProxyRules {...part} oidc={oidc} />
      <RedirectUris {...part} oidc={oidc} />
      <Flows {...part} oidc={oidc} />
      <Tokens {...part} oidc={oidc} />
      {proof === "secret" && secrets}
      {proof !== "none" && <ApplicationKeys {...part} />}
      <SignOut {...part} oidc={oidc} />
    </>
  )
}

const authTexts = { basic: "secret", post: "secret", private_key_jwt: "key", none: "none" } as const

function ApplicationState({ application }: ApplicationPart) {
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
      subject={name}
      of={{ applicationId, projectId }}
      isOn={isActive(application)}
      consequence={
        <>
          <p>{t("applications.deactivate_text")}</p>
          <PagePart rows={1}>
            <UsedThisWeek applicationId={applicationId} />
          </PagePart>
        </>
      }
    />
  )
}

function GeneralSettings({ application }: ApplicationPart) {
  const { applicationId, projectId, name } = application
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        renameRow(t("field.name"), name, updateApplication, (to) =>
          call(updateApplication, { applicationId, projectId, name: to }),
        ),
        copyableFact(t("field.application_id"), applicationId),
        ...dateRows(application),
      ]}
    />
  )
}
