export { shortVersion, version } from "../kernel/version.ts"
