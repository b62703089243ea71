import { Fragment, Suspense } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { Alert, Check, SelectField, TextArea, TextField } from "../../kit/index.ts"
import {
  Contested,
  DialogForm,
  type Form,
  formId,
  lineList,
  namesBy,
  useForm,
  wordList,
} from "../form/index.ts"
import { call, t, unless, useRead } from "../shell/index.ts"
import { CallbackAddress } from "./callback-address.tsx"
import { creationWarningOf } from "./creation-warning.ts"
import {
  type Choice,
  type ChoiceName,
  choices,
  type FieldName,
  fieldOf,
  type OptionName,
} from "./form-fields.ts"
import { autoLinkings, requestOf, type Values, valuesOf } from "./form-values.ts"
import { type KindName, kindNames, kindOf, optionsOf, type ProviderOwner } from "./provider-kind.ts"
import { SecretField } from "./secret-field.tsx"

type IdpFormProps = {
  readonly place: ProviderOwner
  readonly provider: Provider | undefined
  readonly close: () => void
}

/** One form for all kinds; what a list leaves out, for it may be long, is read first. */
export function IdpForm(props: IdpFormProps) {
  const { provider } = props
  if (provider?.config?.config.case !== "saml") return <KindForm {...props} />
  return (
    <Suspense>
      <WholeForm {...props} id={provider.id} />
    </Suspense>
  )
}

const useOfInstance = (id: string) => useRead(AdminService.method.getProviderByID, { id }).idp
const useOfOrganization = (id: string, place: ProviderOwner) =>
  useRead(
    ManagementService.method.getProviderByID,
    ...([{ id }, place === undefined ? {} : { within: place }] as const),
  ).idp

function WholeForm({ id, ...props }: IdpFormProps & { readonly id: string }) {
  const useWhole = props.place === undefined ? useOfInstance : useOfOrganization
  const provider = useWhole(id, props.place)
  return provider ? <KindForm {...props} provider={provider} /> : null
}

/** What is asked for stands in the row of the kind. */
function KindForm({ place, provider, close }: IdpFormProps) {
  const form = useForm<Values>({
    id: formId("idps", provider?.id ?? "+"),
    initial: valuesOf(provider),
    lists: {
      scopes: wordList,
      userFilters: wordList,
      userObjectClasses: wordList,
      // One provider says its servers in a line, another one a line each: both are read.
      servers: wordList,
      allowedDomains: lineList,
    },
    secret: ["clientSecret", "bindPassword", "privateKey"],
    authored: true,
    save: (values) => save(place, provider, values),
    done: close,
  })
  const { values, change } = form
  const kind = kindOf(values.kind)
  const title = t(provider ? "idps.edit" : "idps.create")
  return (
    <DialogForm title={title} form={form} onCancel={close}>
      {!provider && (
        <SelectField<KindName>
          label={t("field.kind")}
          name="kind"
          options={kindNames.map((value) => ({ value, label: nameOfKind(value) }))}
          value={values.kind}
          onChange={(next) => change({ kind: next })}
        />
      )}
      <CallbackAddress kind={values.kind} place={place} id={provider?.id} />
      {kind.fields.map((name) => (
        <Text key={name} form={form} name={name} isNew={!provider} />
      ))}
      {kind.choices?.map((name) => (
        <ChoiceField key={name} form={form} name={name} />
      ))}
      {kind.checks.map((name) => (
        <Contested key={name} form={form} name={name} label={t(`idps.check.${name}`)}>
          <Check
            label={t(`idps.check.${name}`)}
            hint={t(`idps.check_hint.${name}`)}
            checked={values[name]}
            onChange={(on) => change({ [name]: on })}
          />
        </Contested>
      ))}
      <Options form={form} place={place} />
    </DialogForm>
  )
}

/** What a kind is called; names of vendors are the same everywhere. */
export function nameOfKind(name: KindName): string {
  const { brand } = kindOf(name)
  if (brand !== undefined) return brand
  if (name === "oidc") return t("idps.kind.oidc")
  if (name === "oauth") return t("idps.kind.oauth")
  if (name === "saml") return t("idps.kind.saml")
  return name === "ldap" ? t("idps.kind.ldap") : t("idps.kind.jwt")
}

type ChoiceProps = { readonly form: Form<Values>; readonly name: ChoiceName }

function ChoiceField({ form, name }: ChoiceProps) {
  const { values, change } = form
  const known: readonly (Choice<"binding"> | Choice<"nameIdFormat">)[] = choices[name]
  const label = t(`idps.field.${name}`)
  const options = known.map((value) => ({ value, label: t(`idps.choice.${value}`) }))
  return (
    <Contested form={form} name={name} label={label} words={namesBy(options)}>
      <SelectField<string>
        label={label}
        options={options}
        hint={t(`idps.hint.${name}`)}
        value={values[name]}
        onChange={(next) => change({ [name]: next })}
      />
    </Contested>
  )
}

type TextProps = {
  readonly form: Form<Values>
  readonly name: FieldName
  readonly isNew: boolean
}

/** One text of a provider; a secret that is there already may stay. */
function Text({ form, name, isNew }: TextProps) {
  const { type, optional, placeholder, hint, max = 200 } = fieldOf(name)
  const label = t(`idps.field.${name}`)
  if (type === "secret") {
    const stays = !isNew && { hint: t("idps.secret_stays") }
    return <SecretField form={form} name={name} label={label} {...stays} required={isNew} />
  }
  const isKept = name === "privateKey" && !isNew
  const isRequired = optional === undefined && !isKept && !(name === "name" && hasBrand(form))
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
    <Contested form={form} name={name} label={label}>
      {type === "area" ? (
        <TextArea {...wired} rows={name === "servers" ? 2 : 4} />
      ) : (
        <TextField {...wired} type={type} />
      )}
    </Contested>
  )
}

const hasBrand = ({ values }: Form<Values>): boolean => kindOf(values.kind).brand !== undefined

/** Only the instance decides what passes for a fresh sign-in, and who verifies for everybody. */
const instanceOptions: ReadonlySet<OptionName> = new Set(["acceptAsFresh", "isTrustedForAddresses"])

type OptionsProps = { readonly form: Form<Values>; readonly place: ProviderOwner }

/** What may come of a sign-in. */
function Options({ form, place }: OptionsProps) {
  const { values, change } = form
  const linkings = autoLinkings.map((value) => ({ value, label: t(`idps.auto_linking.${value}`) }))
  const shown = optionsOf(values.kind).filter(
    (name) => place === undefined || !instanceOptions.has(name),
  )
  return (
    <fieldset className="checks">
      <legend className="field-label choice-legend">{t("idps.options")}</legend>
      {shown.map((name) => (
        <Fragment key={name}>
          <Contested form={form} name={name} label={t(`idps.option.${name}`)}>
            <Check
              label={t(`idps.option.${name}`)}
              hint={t(`idps.option_hint.${name}`)}
              checked={values[name]}
              onChange={(on) => change({ [name]: on })}
            />
          </Contested>
          {name === "isCreationAllowed" && values[name] && <AllowedDomains form={form} />}
        </Fragment>
      ))}
      <Contested
        form={form}
        name="autoLinking"
        label={t("idps.auto_linking")}
        words={namesBy(linkings)}
      >
        <SelectField
          label={t("idps.auto_linking")}
          hint={t("idps.auto_linking_hint")}
          options={linkings}
          value={values.autoLinking}
          onChange={(autoLinking) => change({ autoLinking })}
        />
      </Contested>
    </fieldset>
  )
}

/** Who gets an account, once a provider creates them. */
function AllowedDomains({ form }: { readonly form: Form<Values> }) {
  const warning = creationWarningOf(form.values)
  return (
    <>
      {warning && <Alert tone="warning">{t(`idps.creation_warning.${warning}`)}</Alert>}
      <Contested form={form} name="allowedDomains" label={t("idps.allowed_domains")}>
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
      </Contested>
    </>
  )
}

function save(
  place: ProviderOwner,
  provider: Provider | undefined,
  values: Values,
): Promise<unknown> {
  const kind = kindOf(values.kind)
  const { add, update } = place === undefined ? kind.instance : kind.organization
  const wanted = requestOf(values, provider)
  const options = place === undefined ? {} : { within: place }
  if (!provider) return call(add, wanted, options)
  return unless("idp.unchanged", call(update, { ...wanted, id: provider.id }, options))
}
