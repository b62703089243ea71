import { Fragment, Suspense } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { Alert, Check, SelectField, TextArea, TextField } from "../../kit/index.ts"
import {
  ContestedField,
  DialogForm,
  type Form,
  formatOptions,
  formId,
  lineList,
  useForm,
  wordList,
} from "../form/index.ts"
import { call, ignoreError, t, useRead } from "../shell/index.ts"
import { CallbackAddress } from "./callback-address.tsx"
import { findCreationWarning } from "./creation-warning.ts"
import {
  type Choice,
  type ChoiceName,
  choices,
  type FieldName,
  getField,
  type OptionName,
} from "./form-fields.ts"
import { autoLinkings, type ProviderValues, toFormValues, toRequest } from "./form-values.ts"
import {
  getKind,
  type KindName,
  kindNames,
  listOptions,
  type ProviderOwner,
} from "./provider-kind.ts"
import { SecretField } from "./secret-field.tsx"

type IdpFormProps = {
  readonly owner: ProviderOwner
  readonly provider: Provider | undefined
  readonly close: () => void
}

/** The form for all kinds; loads first what the list omits because of its size. */
export function IdpForm(props: IdpFormProps) {
  const { provider } = props
  if (provider?.config?.config.case !== "saml") return <KindForm {...props} />
  return (
    <Suspense>
      <LoadedForm {...props} id={provider.id} />
    </Suspense>
  )
}

const useInstanceProvider = (id: string) => useRead(AdminService.method.getProviderByID, { id }).idp
const useOrganizationProvider = (id: string, owner: ProviderOwner) =>
  useRead(
    ManagementService.method.getProviderByID,
    ...([{ id }, owner === undefined ? {} : { within: owner }] as const),
  ).idp

function LoadedForm({ id, ...props }: IdpFormProps & { readonly id: string }) {
  const useWhole = props.owner === undefined ? useInstanceProvider : useOrganizationProvider
  const provider = useWhole(id, props.owner)
  return provider ? <KindForm {...props} provider={provider} /> : null
}

/** The fields of one kind, from its row in the table. */
function KindForm({ owner, provider, close }: IdpFormProps) {
  const form = useForm<ProviderValues>({
    id: formId("idps", provider?.id ?? "+"),
    initial: toFormValues(provider),
    lists: {
      scopes: wordList,
      userFilters: wordList,
      userObjectClasses: wordList,
      // Servers are separated by spaces or line breaks, depending on the provider; both are parsed.
      servers: wordList,
      allowedDomains: lineList,
    },
    secret: ["clientSecret", "bindPassword", "privateKey"],
    authored: true,
    save: (values) => saveProvider(owner, provider, values),
    done: close,
  })
  const { values, change } = form
  const kind = getKind(values.kind)
  const title = t(provider ? "idps.edit" : "idps.create")
  return (
    <DialogForm title={title} form={form} onCancel={close}>
      {!provider && (
        <SelectField<KindName>
          label={t("field.kind")}
          name="kind"
          options={kindNames.map((value) => ({ value, label: kindLabel(value) }))}
          value={values.kind}
          onChange={(next) => change({ kind: next })}
        />
      )}
      <CallbackAddress kind={values.kind} owner={owner} id={provider?.id} />
      {kind.fields.map((name) => (
        <ProviderTextField key={name} form={form} name={name} isNew={!provider} />
      ))}
      {kind.choices?.map((name) => (
        <ChoiceField key={name} form={form} name={name} />
      ))}
      {kind.checks.map((name) => (
        <ContestedField key={name} form={form} name={name} label={t(`idps.check.${name}`)}>
          <Check
            label={t(`idps.check.${name}`)}
            hint={t(`idps.check_hint.${name}`)}
            checked={values[name]}
            onChange={(on) => change({ [name]: on })}
          />
        </ContestedField>
      ))}
      <SignInOptions form={form} owner={owner} />
    </DialogForm>
  )
}

/** The label of a kind; vendor names are not translated. */
export function kindLabel(name: KindName): string {
  const { brand } = getKind(name)
  if (brand !== undefined) return brand
  if (name === "oidc") return t("idps.kind.oidc")
  if (name === "oauth") return t("idps.kind.oauth")
  if (name === "saml") return t("idps.kind.saml")
  return name === "ldap" ? t("idps.kind.ldap") : t("idps.kind.jwt")
}

type ChoiceFieldProps = { readonly form: Form<ProviderValues>; readonly name: ChoiceName }

function ChoiceField({ form, name }: ChoiceFieldProps) {
  const { values, change } = form
  const choiceOptions: readonly (Choice<"binding"> | Choice<"nameIdFormat">)[] = choices[name]
  const label = t(`idps.field.${name}`)
  const options = choiceOptions.map((value) => ({ value, label: t(`idps.choice.${value}`) }))
  return (
    <ContestedField form={form} name={name} label={label} format={formatOptions(options)}>
      <SelectField<string>
        label={label}
        options={options}
        hint={t(`idps.hint.${name}`)}
        value={values[name]}
        onChange={(next) => change({ [name]: next })}
      />
    </ContestedField>
  )
}

type TextFieldProps = {
  readonly form: Form<ProviderValues>
  readonly name: FieldName
  readonly isNew: boolean
}

/** One text field; an existing secret can be kept. */
function ProviderTextField({ form, name, isNew }: TextFieldProps) {
  const { type, optional, placeholder, hint, max = 200 } = getField(name)
  const label = t(`idps.field.${name}`)
  if (type === "secret") {
    const stays = !isNew && { hint: t("idps.secret_stays") }
    return <SecretField form={form} name={name} label={label} {...stays} required={isNew} />
  }
  const isKept = name === "privateKey" && !isNew
  const isRequired = optional === undefined && !isKept && !(name === "name" && isBranded(form))
  const shown = {
    label,
    placeholder,
    maxLength: max,
    required: isRequired,
    spellCheck: false,
    hint: isKept ? t("idps.secret_stays") : hint && t(hint),
    ...(!isRequired && { optional: t("form.optional") }),
  }
  const wired = { ...form.text(name), ...shown }
  return (
    <ContestedField form={form} name={name} label={label}>
      {type === "area" ? (
        <TextArea {...wired} rows={name === "servers" ? 2 : 4} />
      ) : (
        <TextField {...wired} type={type} />
      )}
    </ContestedField>
  )
}

const isBranded = ({ values }: Form<ProviderValues>): boolean =>
  getKind(values.kind).brand !== undefined

/**
 * Only the instance decides what counts as a fresh sign-in and whose verification applies to all
 * organizations.
 */
const instanceOptions: ReadonlySet<OptionName> = new Set(["acceptAsFresh", "isTrustedForAddresses"])

type OptionsProps = { readonly form: Form<ProviderValues>; readonly owner: ProviderOwner }

/** Options for what happens after a sign-in. */
function SignInOptions({ form, owner }: OptionsProps) {
  const { values, change } = form
  const linkings = autoLinkings.map((value) => ({ value, label: t(`idps.auto_linking.${value}`) }))
  const shown = listOptions(values.kind).filter(
    (name) => owner === undefined || !instanceOptions.has(name),
  )
  return (
    <fieldset className="checks">
      <legend className="field-label choice-legend">{t("idps.options")}</legend>
      {shown.map((name) => (
        <Fragment key={name}>
          <ContestedField form={form} name={name} label={t(`idps.option.${name}`)}>
            <Check
              label={t(`idps.option.${name}`)}
              hint={t(`idps.option_hint.${name}`)}
              checked={values[name]}
              onChange={(on) => change({ [name]: on })}
            />
          </ContestedField>
          {name === "isCreationAllowed" && values[name] && <AllowedDomains form={form} />}
        </Fragment>
      ))}
      <ContestedField
        form={form}
        name="autoLinking"
        label={t("idps.auto_linking")}
        format={formatOptions(linkings)}
      >
        <SelectField
          label={t("idps.auto_linking")}
          hint={t("idps.auto_linking_hint")}
          options={linkings}
          value={values.autoLinking}
          onChange={(autoLinking) => change({ autoLinking })}
        />
      </ContestedField>
    </fieldset>
  )
}

/** Restricts who gets an account, if the provider creates them. */
function AllowedDomains({ form }: { readonly form: Form<ProviderValues> }) {
  const warning = findCreationWarning(form.values)
  return (
    <>
      {warning && <Alert tone="warning">{t(`idps.creation_warning.${warning}`)}</Alert>}
      <ContestedField form={form} name="allowedDomains" label={t("idps.allowed_domains")}>
        <TextArea
          {...form.text("allowedDomains")}
          label={t("idps.allowed_domains")}
          hint={t("idps.allowed_domains_hint")}
          optional={t("form.optional")}
          placeholder="example.com"
          maxLength={13_000}
          rows={2}
          spellCheck={false}
        />
      </ContestedField>
    </>
  )
}

function saveProvider(
  owner: ProviderOwner,
  provider: Provider | undefined,
  values: ProviderValues,
): Promise<unknown> {
  const kind = getKind(values.kind)
  const { add, update } = owner === undefined ? kind.instance : kind.organization
  const request = toRequest(values, provider)
  const options = owner === undefined ? {} : { within: owner }
  if (!provider) return call(add, request, options)
  return ignoreError("idp.unchanged", call(update, { ...request, id: provider.id }, options))
}
