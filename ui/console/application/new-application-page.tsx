import { lazyRouteComponent, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import {
  OIDCApplicationType,
  OIDCAuthMethodType,
  OIDCGrantType,
  OIDCResponseType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Alert, Choice, Disclosure } from "../../kit/index.ts"
import { type Controls, defineForm, linesOf, verbatim } from "../form/index.ts"
import { OneTimeSecret } from "../list/index.ts"
import {
  type Crumb,
  call,
  LinkButton,
  Page,
  PagePart,
  t,
  useOrganization,
  useRead,
  useSelectOwner,
} from "../shell/index.ts"
import { kindOf } from "./application-list.tsx"
import { groupsClaims, pkceRules } from "./protocol.ts"
import { isForProxies } from "./proxy-snippets.ts"
import {
  hasInvalid,
  needsPrivateHttp,
  PostLogoutUriVerdicts,
  RedirectUriVerdicts,
} from "./uri-verdicts.tsx"

const kinds = ["web", "user_agent", "native", "api", "saml"] as const
type Kind = (typeof kinds)[number]

/**
 * Protocol settings for each kind of OpenID Connect application; only web applications can keep a
 * secret.
 */
const protocolSettings = {
  web: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_WEB,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_BASIC,
  },
  user_agent: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
  native: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_NATIVE,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
} as const satisfies Record<Exclude<Kind, "api" | "saml">, unknown>

const emptyValues = {
  kind: "web",
  projectName: "",
  name: "",
  redirectUris: "",
  postLogoutUris: "",
  metadata: "",
  clientId: "",
  clientSecret: "",
  privateHttp: false,
  pkce: false,
  refresh: false,
  readsIdToken: "yes",
  lists: "no",
} as const

type ApplicationValues = {
  readonly kind: Kind
  readonly projectId: string
  /** Name of the project to create, if there is none to choose. */
  readonly projectName: string
  readonly name: string
  readonly redirectUris: string
  readonly postLogoutUris: string
  /** Metadata of a SAML application: XML or a URL. */
  readonly metadata: string
  /** Chosen by the administrator; generated if empty. */
  readonly clientId: string
  readonly clientSecret: string
  readonly privateHttp: boolean
  /** For applications with a secret; all others must use PKCE anyway. */
  readonly pkce: boolean
  readonly refresh: boolean
  /** Whether the application reads the profile only from ID tokens. */
  readonly readsIdToken: "yes" | "no"
  /** The flat list of roles that the application needs. */
  readonly lists: "no" | "groups" | "roles"
}

type CreatedInfo = {
  readonly applicationId: string
  readonly name: string
  readonly secret: string
}

const Connect = lazyRouteComponent(() => import("./connect.tsx"), "Connect")

/** A page to create an application in a given project. */
export function NewApplicationPage() {
  const { projectId } = useParams({ from: "/projects/$projectId/new-application" })
  const { project } = useRead(ProjectService.method.getProject, { projectId })
  useSelectOwner(project?.organizationId)
  const name = project?.name ?? projectId
  const crumbs = [
    { label: t("nav.projects"), link: { to: "/projects" } },
    { label: name, link: { to: "/projects/$projectId", params: { projectId } } },
  ] as const
  return <NewApplication crumbs={crumbs} projects={[{ projectId, name }]} />
}

/** A page to create an application in any project of the organization, or in a new one. */
export function AnyNewApplicationPage() {
  const { id: organizationId } = useOrganization()
  const own = { case: "organizationIdFilter", value: { organizationId } } as const
  const { projects } = useRead(ProjectService.method.listProjects, {
    pagination: { limit: 500, asc: true },
    sortingColumn: ProjectFieldName.NAME,
    // Applications can't be added to the internal project.
    filters: [{ filter: own }, { filter: { case: "internalFilter", value: false } }],
  })
  const crumbs = [{ label: t("nav.applications"), link: { to: "/applications" } }] as const
  const owned = projects.filter((one) => one.grantedOrganizationId === undefined)
  return <NewApplication key={organizationId} crumbs={crumbs} projects={owned} canCreate />
}

type Project = { readonly projectId: string; readonly name: string }

type NewApplicationProps = {
  readonly crumbs: readonly Crumb[]
  /** Projects to choose from; the choice is shown only if there are several. */
  readonly projects: readonly Project[]
  readonly canCreate?: boolean
}

/** Kind, name and redirect URIs; after creation, how to connect it. */
function NewApplication({ crumbs, ...form }: NewApplicationProps) {
  const [created, setCreated] = useState<CreatedInfo | undefined>(undefined)
  const title = created ? created.name : t("applications.create")
  return (
    <Page title={title} crumbs={crumbs} narrow>
      {created ? <CreatedApplication {...created} /> : <NewForm {...form} onCreated={setCreated} />}
    </Page>
  )
}

function CreatedApplication({ applicationId, name, secret }: CreatedInfo) {
  const { application } = useRead(ApplicationService.method.getApplication, { applicationId })
  return (
    <div className="stack stack-wide">
      <Alert tone="done">
        {t(createdMessage(application && kindOf(application), secret !== ""))}
      </Alert>
      {secret && (
        <OneTimeSecret
          title={t("secret.client")}
          secret={secret}
          file={`${name}-client-secret.txt`}
        />
      )}
      {application && (
        <PagePart rows={5}>
          <Connect application={application} secret={secret || undefined} />
        </PagePart>
      )}
      <div className="row">
        <LinkButton kind="primary" to="/applications/$applicationId" params={{ applicationId }}>
          {t("applications.open")}
        </LinkButton>
      </div>
    </div>
  )
}

function createdMessage(kind: Kind | undefined, hasSecret: boolean) {
  if (kind === "saml") return "saml.created"
  return hasSecret ? "applications.created" : "new_application.created"
}

const { createApplication } = ApplicationService.method

type NewFormProps = Omit<NewApplicationProps, "crumbs"> & {
  readonly onCreated: (created: CreatedInfo) => void
}

function NewForm({ projects, canCreate, onCreated }: NewFormProps) {
  const { id: organizationId } = useOrganization()
  const navigate = useNavigate()
  const initial: ApplicationValues = { ...emptyValues, projectId: projects[0]?.projectId ?? "" }
  const form = defineForm({
    initial,
    secret: ["clientSecret"],
    refusals: {
      name: ["app.name", "app.exists"],
      redirectUris: ["app.redirect_uris_invalid"],
      postLogoutUris: ["app.post_logout_redirect_uris_invalid"],
      metadata: ["app.metadata", "app.entity_id"],
      clientId: ["app.client_id"],
      clientSecret: ["app.client_secret"],
      projectName: ["project."],
    },
    save: async (values) => {
      const projectId = values.projectId || (await createProject(organizationId, values))
      const request = createRequest(projectId, values)
      return { name: request.name, made: await call(createApplication, request) }
    },
    done: ({ name, made: { applicationId, applicationType: result } }) => {
      const hasSecret = result.case === "oidcConfiguration" || result.case === "apiConfiguration"
      onCreated({ applicationId, name, secret: hasSecret ? result.value.clientSecret : "" })
    },
    submit: t("applications.create"),
    disabled: hasInvalidUris,
    fields: (controls) => [
      canCreate && projectFields(controls, projects),
      <Choice
        key="kind"
        legend={t("applications.kind")}
        name="kind"
        options={kinds.map((value) => ({
          value,
          label: t(`kind.${value}`),
          hint: t(`kind.${value}.hint`),
        }))}
        value={controls.values.kind}
        onChange={(kind) => controls.change({ kind, refresh: kind === "native" })}
      />,
      controls.text("name", t("field.name"), { hint: t("applications.name_hint"), required: true }),
      isOidc(controls.values.kind) && signInFields(controls, controls.values.kind),
      controls.values.kind === "saml" &&
        controls.area("metadata", t("saml.metadata"), {
          hint: t("saml.metadata_hint"),
          placeholder: "https://app.example.org/saml/metadata",
          rows: 5,
          maxLength: 500_000,
          spellCheck: false,
          required: true,
        }),
      controls.values.kind !== "saml" && credentialFields(controls),
    ],
  })
  return form({ id: "new-application", close: () => void navigate({ to: "/applications" }) })
}

async function createProject(
  organizationId: string,
  { projectName }: ApplicationValues,
): Promise<string> {
  const request = { organizationId, name: projectName.trim() }
  return (await call(ProjectService.method.createProject, request)).projectId
}

/** The project of the application; a new project needs a name. */
function projectFields(controls: Controls<ApplicationValues>, projects: readonly Project[]) {
  const ids = projects.map(({ projectId }) => projectId)
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  const hint = t("projects.name_hint")
  return [
    projects.length > 0 &&
      controls.select("projectId", t("applications.project"), {
        of: [...ids, ""],
        label: (id) => names.get(id) ?? t("applications.new_project"),
      }),
    controls.values.projectId === "" &&
      controls.text("projectName", t("applications.project_name"), { hint, required: true }),
  ]
}

/** APIs only validate tokens, so they have no redirect URIs. */
const isOidc = (kind: Kind): kind is keyof typeof protocolSettings =>
  Object.hasOwn(protocolSettings, kind)

const hasInvalidUris = ({ kind, redirectUris, postLogoutUris }: ApplicationValues) =>
  isOidc(kind) && (hasInvalid(redirectUris, false) || hasInvalid(postLogoutUris, false))

const uriInput = { maxLength: 20_000, spellCheck: false } as const

function signInFields(controls: Controls<ApplicationValues>, kind: keyof typeof protocolSettings) {
  const { values, area, check, choice } = controls
  const { privateHttp } = values
  const by = { appType: kind, devMode: false, privateHttp } as const
  return [
    area("redirectUris", t("field.redirect_uris"), {
      hint: t("new_application.redirect_hint"),
      placeholder:
        kind === "native" ? "com.example.app:/callback" : "https://app.example.org/callback",
      ...uriInput,
      rows: 3,
      required: true,
    }),
    <RedirectUriVerdicts key="judged" typed={values.redirectUris} context={by} />,
    (privateHttp || needsPrivateHttp(values.redirectUris, by)) &&
      check("privateHttp", t("field.private_http"), t("new_application.private_http_hint")),
    area("postLogoutUris", t("field.post_logout_uris"), {
      ...uriInput,
      rows: 2,
      optional: true,
      hint: t("new_application.post_logout_hint"),
    }),
    <PostLogoutUriVerdicts key="returns" typed={values.postLogoutUris} context={by} />,
    choice("readsIdToken", t("new_application.reads_id_token"), {
      of: ["yes", "no"],
      label: (one) => t(`new_application.reads_id_token.${one}`),
      hints: (one) => t(`new_application.reads_id_token.${one}.hint`),
    }),
    choice("lists", t("new_application.lists"), {
      of: ["no", "groups", "roles"],
      label: (one) => t(`new_application.lists.${one}`),
      hints: (one) => t(`new_application.lists.${one}.hint`),
    }),
    check("refresh", t("grant.refresh_token"), t("grant.refresh_token.hint")),
    kind === "web" && check("pkce", t("pkce.check"), t("pkce.hint")),
  ]
}

/** Credentials that are generated, unless the client was already configured with others. */
function credentialFields({ values, text, secret }: Controls<ApplicationValues>) {
  return (
    <Disclosure key="credentials" summary={t("new_application.credentials")}>
      {text("clientId", t("field.client_id"), {
        ...verbatim,
        maxLength: 100,
        optional: true,
        hint: t("new_application.client_id_hint"),
      })}
      {(values.kind === "web" || values.kind === "api") &&
        secret("clientSecret", t("applications.client_secret"), {
          maxLength: 256,
          optional: true,
          hint: t("new_application.client_secret_hint"),
        })}
    </Disclosure>
  )
}

function createRequest(projectId: string, draft: ApplicationValues) {
  const name = draft.name.trim()
  const hasSecret = draft.kind === "web" || draft.kind === "api"
  const credentials = {
    clientId: draft.clientId.trim(),
    clientSecret: hasSecret ? draft.clientSecret : "",
  }
  if (draft.kind === "api") {
    const applicationType = { case: "apiConfiguration", value: credentials } as const
    return { projectId, name, applicationType }
  }
  if (draft.kind === "saml") {
    const value = { metadata: parseMetadataInput(draft.metadata.trim()) }
    const applicationType = { case: "samlConfiguration", value } as const
    return { projectId, name, applicationType }
  }
  const value = {
    ...protocolSettings[draft.kind],
    ...(isSecretless(draft) && { authMethodType: protocolSettings.native.authMethodType }),
    ...credentials,
    redirectUris: linesOf(draft.redirectUris),
    postLogoutRedirectUris: linesOf(draft.postLogoutUris),
    privateNetworkHttp: draft.privateHttp,
    ...(draft.kind === "web" && usesPkce(draft) && { pkce: pkceRules.required }),
    // The API's default is off.
    idTokenUserinfoAssertion: draft.readsIdToken === "yes",
    ...(draft.lists !== "no" && { groupsClaim: groupsClaims[draft.lists] }),
    responseTypes: [OIDCResponseType.OIDC_RESPONSE_TYPE_CODE],
    grantTypes: [
      OIDCGrantType.OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
      ...(draft.refresh ? [OIDCGrantType.OIDC_GRANT_TYPE_REFRESH_TOKEN] : []),
    ],
  }
  const applicationType = { case: "oidcConfiguration", value } as const
  return { projectId, name, applicationType }
}

/** Sign-ins for a proxy are requests of the server itself, which always use PKCE. */
const usesPkce = ({ pkce, redirectUris }: ApplicationValues): boolean =>
  pkce || isForProxies(linesOf(redirectUris))

/** An application that only signs in for proxies doesn't need a secret. */
const isSecretless = ({ clientSecret, redirectUris }: ApplicationValues): boolean =>
  clientSecret === "" && isForProxies(linesOf(redirectUris))

const parseMetadataInput = (typed: string) =>
  /^https?:/.test(typed)
    ? ({ case: "metadataUrl", value: typed } as const)
    : ({ case: "metadataXml", value: new TextEncoder().encode(typed) } as const)
