package egress

import (
	"strings"
	"testing"
)

func TestCredentialName(t *testing.T) {
	for _, name := range strings.Fields(`GITHUB_TOKEN MODAL_TOKEN_ID HF_TOKEN tokens MODAL_TOKEN_SECRET client_secret DB_PASSWORD MYSQL_PASSWD
		SSH_PASSPHRASE GOOGLE_APPLICATION_CREDENTIALS PRIVATE_PEM session_cookie RUNPOD_API_KEY apikey apiKey api-key AWS_ACCESS_KEY_ID
		AUTHKEY POND_KEY KEY key SSH_KEY sshKey SSH_KEYS STRIPE_KEY2 GITHUB_PAT AZURE_DEVOPS_PAT pat SENTRY_DSN DSN DSN_REPLICA dsn.main
		SLACK_WEBHOOK SLACK_WEBHOOK_URL discordWebhook NPM_AUTH REDIS_PWD SERVICE_JWT`) {
		if !CredentialName(name) {
			t.Errorf("%s is not taken for a credential", name)
		}
	}
	for _, name := range strings.Fields(`KEYBOARD MONKEY TURKEY_REGION KEYBOARD_LAYOUT KEY_BINDINGS keystore_path PATH PATTERN COMPAT SPAT_X UPDATE_PATH
		AUTHOR AUTHORITY OAUTHLIB_HOME REGION ENDPOINT ZONE PROJECT BASE_URL HOOK DSNY MODAL_PROFILE POND_URL`) {
		if CredentialName(name) {
			t.Errorf("%s is taken for a credential", name)
		}
	}
}
