export { type MailPage, renderMail } from "./mail.tsx"
