import { ConfirmButton, ContestedField, defineForm, EditSection } from "../form/index.ts"
import { Facts, notify, PagePart, t } from "../shell/index.ts"
import { type EffectivePolicy, resetPolicy, savePolicy, usePolicy } from "./effective-policy.ts"
import { asValue, useFormatField } from "./field-values.ts"
import type { PolicyDefinition, PolicyFieldSpec, PolicyOwner, PolicyValues } from "./policy.ts"
import { PolicyField } from "./policy-field.tsx"

type PolicyProps = { readonly policy: PolicyDefinition; readonly owner: PolicyOwner }

/** A policy of an owner: current values, their source, and the form to change them. */
export function PolicySection({ policy, owner }: PolicyProps) {
  const effective = usePolicy(policy, owner)
  const formatField = useFormatField()
  if (!effective) return null
  const part = { policy, owner, effective }
  const { Additional: More } = policy
  const { add, update } = policy.organization
  const isOwnPolicy = owner === undefined || effective.isOwn
  const change = owner === undefined ? policy.instance.update : effective.isOwn ? update : add
  return (
    <EditSection
      needs={change}
      title={t(policy.title)}
      facts={
        <>
          <PolicyFacts {...part} />
          {More && (
            <PagePart>
              <More values={effective.values} owner={owner} isOwn={isOwnPolicy} change={change} />
            </PagePart>
          )}
        </>
      }
      {...(!isOwnPolicy && { action: t("policy.set_own") })}
      {...(effective.isOwn && { extraActions: <ResetPolicy {...part} /> })}
      form={policyForm({ ...part, formatField: formatField })}
    />
  )
}

type EffectivePolicyProps = PolicyProps & { readonly effective: EffectivePolicy }

function PolicyFacts({ policy, owner, effective }: EffectivePolicyProps) {
  const formatField = useFormatField()
  const { values, isOwn, inherited } = effective
  const source = (field: PolicyFieldSpec) => {
    if (!isOwn) return t("policy.inherited")
    const above = inherited && formatField(field, inherited)
    const isOther = above !== undefined && above !== formatField(field, values)
    return isOther ? t("policy.own_other", { value: above }) : t("policy.own")
  }
  return (
    <>
      <p className="quiet section-lead">{t(policy.lead)}</p>
      <Facts
        rows={policy.fields.map((field) => [
          t(field.label),
          <>
            {formatField(field, values)}
            {owner !== undefined && <span className="quiet small">{source(field)}</span>}
          </>,
        ])}
      />
    </>
  )
}

type PolicyFormProps = EffectivePolicyProps & {
  readonly formatField: ReturnType<typeof useFormatField>
}

const policyForm = ({ policy, owner, effective, formatField }: PolicyFormProps) =>
  defineForm<PolicyValues, void>({
    initial: effective.values,
    authored: true,
    save: (values, stored) => savePolicy(policy, owner, { policy: effective, values, stored }),
    fields: (form) => (
      <>
        <p className="quiet section-lead">{t(policy.lead)}</p>
        <div className={policy.preview ? "beside" : undefined}>
          <div className="checks">
            {policy.fields.map((field) => (
              <ContestedField
                key={field.name}
                form={form}
                name={field.name}
                label={t(field.label)}
                format={(value) => formatField(field, { [field.name]: asValue(value) })}
              >
                <PolicyField
                  field={field}
                  value={form.values[field.name] ?? ""}
                  error={form.errorOf(field.name)}
                  onChange={(value) => form.change({ [field.name]: value })}
                />
              </ContestedField>
            ))}
          </div>
          {policy.preview && (
            <PagePart>
              <policy.preview values={form.values} owner={owner} />
            </PagePart>
          )}
        </div>
      </>
    ),
  })

/** Resets to the instance's policy after a preview; can be undone. */
function ResetPolicy({ policy, owner, effective }: EffectivePolicyProps) {
  const formatField = useFormatField()
  const { values, inherited = values } = effective
  const title = t(policy.title)
  const others = policy.fields.filter(
    (field) => formatField(field, inherited) !== formatField(field, values),
  )
  const undo = () => savePolicy(policy, owner, { policy: { ...effective, isOwn: false }, values })
  return (
    <ConfirmButton
      small
      needs={policy.organization.reset}
      label={t("policy.reset")}
      subject={title}
      consequence={
        <>
          <p>{t("policy.reset_text")}</p>
          <Facts rows={others.map((field) => [t(field.label), formatField(field, inherited)])} />
        </>
      }
      act={() => resetPolicy(policy, owner)}
      done={() => notify({ text: t("policy.reset_told", { name: title }), undo })}
    />
  )
}
