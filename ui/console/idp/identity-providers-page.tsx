import { useParams } from "@tanstack/react-router"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { IDPOwnerType, type Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/v1/object_pb.ts"
import { Alert, Badge } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import {
  actionColumn,
  Clip,
  Collection,
  Histories,
  History,
  type ListColumn,
  Listing,
  paginationOf,
  StateBadge,
  toPage,
} from "../list/index.ts"
import {
  call,
  Link,
  notify,
  Page,
  PagePart,
  type RequiredPermission,
  Section,
  t,
  useOrganizationCrumbs,
  useReadIfAllowed,
} from "../shell/index.ts"
import { IdpForm, kindLabel } from "./idp-form.tsx"
import { findKindName, type ProviderOwner } from "./provider-kind.ts"
import { TestProvider, TestResult } from "./provider-test.tsx"

const admin = AdminService.method
const management = ManagementService.method

/** Identity providers of the instance. */
export function IdentityProvidersPage() {
  return (
    <Page title={t("nav.identity-providers")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("idps.lead")}</p>
      <TestResult />
      <PagePart rows={4}>
        <ProviderList owner={undefined} />
      </PagePart>
      <Histories of={["identityProviders"]} />
    </Page>
  )
}

/** Identity providers of an organization. */
export function OrganizationIdentityProvidersPage() {
  const { organizationId } = useParams({
    from: "/organizations/$organizationId/identity-providers",
  })
  const crumbs = useOrganizationCrumbs(organizationId)
  return (
    <Page title={t("nav.identity-providers")} crumbs={crumbs}>
      <p className="quiet section-lead">{t("idps.lead_organization")}</p>
      <TestResult />
      <PagePart rows={4}>
        <ProviderList owner={organizationId} />
      </PagePart>
      <History of={{ case: "identityProvidersOf", value: organizationId }} />
    </Page>
  )
}

type OwnerProps = { readonly owner: ProviderOwner }

/**
 * Providers of an owner; an organization can also link those of the instance, but not change them.
 */
function ProviderList({ owner }: OwnerProps) {
  const shared = useListSource(owner)
  if (owner === undefined) {
    return (
      <>
        <DisabledNotice owner={owner} />
        <Collection
          {...shared}
          method={admin.listProviders}
          toRequest={(query) => ({ query: paginationOf(query), queries: nameQuery(query.text) })}
          find={({ result, details }) => toPage(result, details)}
          needs={{
            create: admin.addGenericOIDCProvider,
            edit: admin.updateGenericOIDCProvider,
            remove: admin.deleteProvider,
          }}
          turn={(provider) => (
            <LinkButton {...shared.turn} provider={provider} needs={admin.addIDPToLoginPolicy} />
          )}
          remove={({ id }) => call(admin.deleteProvider, { id })}
        />
      </>
    )
  }
  const [own, whole] = [
    { query: { case: "ownerTypeQuery", value: { ownerType: IDPOwnerType.IDP_OWNER_TYPE_ORG } } },
    { query: { case: "ownerTypeQuery", value: { ownerType: IDPOwnerType.IDP_OWNER_TYPE_SYSTEM } } },
  ] as const
  return (
    <>
      <DisabledNotice owner={owner} />
      <Collection
        {...shared}
        method={management.listProviders}
        within={owner}
        toRequest={(query) => ({
          query: paginationOf(query),
          queries: [own, ...nameQuery(query.text)],
        })}
        find={({ result, details }) => toPage(result, details)}
        needs={{
          create: management.addGenericOIDCProvider,
          edit: management.updateGenericOIDCProvider,
          remove: management.deleteProvider,
        }}
        turn={(provider) => (
          <LinkButton {...shared.turn} provider={provider} needs={management.addIDPToLoginPolicy} />
        )}
        remove={({ id }) => call(management.deleteProvider, { id }, { within: owner })}
      />
      <Listing
        caption={t("idps.of_instance")}
        name="instance"
        unsearched
        method={management.listProviders}
        within={owner}
        toRequest={(query) => ({ query: paginationOf(query), queries: [whole] })}
        find={({ result, details }) => toPage(result, details)}
        columns={[...shared.columns, linkColumn(shared.turn)]}
        keyOf={({ id }) => id}
        empty={<p className="quiet section-lead">{t("idps.of_instance_none")}</p>}
        frame={(list) => <Section title={t("idps.of_instance")}>{list}</Section>}
      />
    </>
  )
}

const nameQuery = (name: string) =>
  name === ""
    ? []
    : [
        {
          query: {
            case: "idpNameQuery",
            value: { name, method: TextQueryMethod.CONTAINS_IGNORE_CASE },
          },
        } as const,
      ]

type LinkActions = {
  readonly isOn: (provider: Provider) => boolean
  readonly act: (provider: Provider, on: boolean) => Promise<unknown>
  readonly off: string
}

const linkColumn = (actions: LinkActions) =>
  actionColumn((provider: Provider) => (
    <LinkButton {...actions} provider={provider} needs={management.addIDPToLoginPolicy} />
  ))

/** Links a provider, or unlinks it after a confirmation. */
function LinkButton(props: LinkActions & RequiredPermission & { readonly provider: Provider }) {
  const { provider, isOn, act, off, needs } = props
  const { name } = provider
  const turnOn = () => act(provider, true)
  if (!isOn(provider)) {
    return <ActionButton small needs={needs} label={t("action.activate")} act={turnOn} />
  }
  return (
    <ConfirmButton
      small
      needs={needs}
      subject={name}
      consequence={off}
      label={t("action.deactivate")}
      act={() => act(provider, false)}
      done={() => notify({ text: t("notice.deactivated", { name }), undo: turnOn })}
    />
  )
}

const allRequest = { query: { limit: 1000 } }

const useInstanceLinks = () => useReadIfAllowed(admin.listLoginPolicyIDPs, allRequest)?.result
const useOrganizationLinks = (owner: ProviderOwner) =>
  useReadIfAllowed(management.listLoginPolicyIDPs, allRequest, withinOrganization(owner))?.result

const withinOrganization = (owner: ProviderOwner) => (owner === undefined ? {} : { within: owner })

/** The list source of providers of either owner. */
function useListSource(owner: ProviderOwner) {
  const useLinks = owner === undefined ? useInstanceLinks : useOrganizationLinks
  const linked = new Set(useLinks(owner)?.map(({ idpId }) => idpId))
  const within = withinOrganization(owner)
  const isOn = ({ id }: Provider) => linked.has(id)
  const actions: LinkActions = {
    isOn,
    act: ({ id: idpId, owner: ownerType }, on) => {
      if (owner === undefined) {
        return on
          ? call(admin.addIDPToLoginPolicy, { idpId })
          : call(admin.removeIDPFromLoginPolicy, { idpId })
      }
      return on
        ? call(management.addIDPToLoginPolicy, { idpId, ownerType }, within)
        : call(management.removeIDPFromLoginPolicy, { idpId }, within)
    },
    off: t("idps.off"),
  }
  const columns: readonly ListColumn<Provider>[] = [
    { label: t("field.name"), cell: ({ name }) => <Clip text={name} /> },
    { label: t("field.kind"), cell: (provider) => <KindBadge provider={provider} /> },
    { label: t("field.state"), cell: (provider) => <StateBadge isOn={isOn(provider)} /> },
  ]
  return {
    family: "idps",
    columns,
    turn: actions,
    keyOf: ({ id }: Provider) => id,
    nameOf: ({ name }: Provider) => name,
    form:
      (provider: Provider | undefined) =>
      ({ close }: { readonly close: () => void }) => (
        <IdpForm owner={owner} provider={provider} close={close} />
      ),
    more: (provider: Provider) => {
      const kind = findKindName(provider)
      return (
        kind && (
          <>
            <TestProvider id={provider.id} name={provider.name} kind={kind} />
            {kind === "saml" && <NewCertificate owner={owner} provider={provider} />}
          </>
        )
      )
    },
    isFixed: (provider: Provider) => findKindName(provider) === undefined,
  } as const
}

type NewCertificateProps = OwnerProps & { readonly provider: Provider }

/** Replaces this server's key pair for a provider. */
function NewCertificate({ owner, provider: { id, name } }: NewCertificateProps) {
  const { regenerateSAMLProviderCertificate: needs } = owner === undefined ? admin : management
  const act = () =>
    owner === undefined
      ? call(admin.regenerateSAMLProviderCertificate, { id })
      : call(management.regenerateSAMLProviderCertificate, { id }, withinOrganization(owner))
  const notice = { subject: name, consequence: t("idps.saml.certificate_text") }
  return (
    <ConfirmButton small needs={needs} act={act} {...notice} label={t("idps.saml.certificate")} />
  )
}

function KindBadge({ provider }: { readonly provider: Provider }) {
  const kind = findKindName(provider)
  return <Badge>{kind ? kindLabel(kind) : (provider.config?.config.case ?? "")}</Badge>
}

type ExternalSignInPolicy = { readonly isOffered: boolean; readonly isDefault: boolean }

function useInstancePolicy(): ExternalSignInPolicy | undefined {
  const policy = useReadIfAllowed(admin.getLoginPolicy)?.policy
  return policy && { isOffered: policy.allowExternalIdp, isDefault: false }
}

function useOrganizationPolicy(owner: ProviderOwner): ExternalSignInPolicy | undefined {
  const found = useReadIfAllowed(management.getLoginPolicy, {}, withinOrganization(owner))
  const { policy, isDefault = false } = found ?? {}
  return policy && { isOffered: policy.allowExternalIdp, isDefault }
}

/** Explains that the login policy disables external sign-in, with a link to it. */
function DisabledNotice({ owner }: OwnerProps) {
  const usePolicy = owner === undefined ? useInstancePolicy : useOrganizationPolicy
  const notice = usePolicy(owner)
  if (!notice) return null
  const link =
    owner === undefined ? (
      <Link to="/settings">{t("idps.to_policy")}</Link>
    ) : (
      <Link to="/organizations/$organizationId/policies" params={{ organizationId: owner }}>
        {t("idps.to_policy")}
      </Link>
    )
  if (!notice.isOffered) {
    return (
      <Alert tone="warning">
        {t("idps.policy_off")} {link}
      </Alert>
    )
  }
  if (!notice.isDefault) return <p className="small">{link}</p>
  return (
    <Alert tone="warning">
      {t("idps.policy_default")} {link}
    </Alert>
  )
}
