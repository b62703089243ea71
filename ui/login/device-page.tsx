import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type DevicePageProps = PageProps & {
  readonly form: Target
  readonly userCode: string
  readonly error?: string | undefined
}

/** Where the user enters the code from a device. Posts `userCode`. */
export function DevicePage(props: DevicePageProps) {
  const { t, form, userCode, error } = props
  // The user must compare a code from the URL with the device (RFC 8628 §3.3.1).
  const lead = userCode === "" || error ? t("device.lead") : t("device.lead_compare")
  return (
    <Frame {...props} title={t("device.title")}>
      <Heading title={t("device.title")} lead={lead} />
      <FlowForm target={form}>
        <TextField
          label={t("device.label")}
          name="userCode"
          defaultValue={userCode}
          error={error}
          autoComplete="off"
          autoCapitalize="characters"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="next"
          maxLength={20}
          required
          autoFocus
        />
        <Button kind="primary" type="submit" wide>
          {t("device.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}

export type DeviceDonePageProps = PageProps & {
  readonly application: string
  readonly isAllowed: boolean
}

/** Shown after the user's decision; the device continues. */
export function DeviceDonePage(props: DeviceDonePageProps) {
  const { t, application, isAllowed } = props
  const title = isAllowed ? t("device.done.title") : t("device.denied.title")
  const lead = isAllowed ? t("device.done.lead", { application }) : t("device.denied.lead")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
    </Frame>
  )
}
