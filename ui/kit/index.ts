export { Alert } from "./alert.tsx"
export { Badge } from "./badge.tsx"
export {
  type Branding,
  type CorrectedColor,
  createPalette,
  defaultColors,
  defaultPolicyColors,
  type Mode,
  modes,
  type Palette,
} from "./branding.ts"
export { Button, ButtonLink } from "./button.tsx"
export { createTranslator, type Translate } from "./catalog.ts"
export { Check, Checks } from "./check.tsx"
export { Chips, Choice } from "./choice.tsx"
export { CopyButton } from "./copy-button.tsx"
export { Dialog, Modal } from "./dialog.tsx"
export { Disclosure } from "./disclosure.tsx"
export { EmptyState } from "./empty-state.tsx"
export { Field, PasswordField, TextArea, TextField } from "./field.tsx"
export { Mark } from "./mark.tsx"
export { Menu } from "./menu.tsx"
export { Avatar, UserSummary } from "./person.tsx"
export { QrCode } from "./qr-code.tsx"
export { SecretBox } from "./secret-box.tsx"
export { SelectField } from "./select.tsx"
export { toSentence } from "./sentence.ts"
export { Skeleton } from "./skeleton.tsx"
export { type Column, Table } from "./table.tsx"
export { storedTheme, storeTheme, type Theme, themes } from "./theme.ts"
export { parseCreationOptions, toResponseJson } from "./webauthn.ts"
