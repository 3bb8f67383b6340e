package ssh

// asked is a host as somebody names it, with what ssh_config makes of it. In all
// texts HOME and ME stand for the home and the account.
type asked struct {
	name, host, user string
	port             int
	config           string
	more             map[string]string // further files of .ssh
	want             string
}

// goldens is a table of what ssh_config can say.
var goldens = []asked{
	{name: "nothing", host: "h", want: "h:22 as ME"},
	{name: "names are small", host: "Web", config: "Host Web\n HostName Web.Example\n", want: "web.example:22 as ME"},
	{name: "names without HostName are small", host: "Web.Example", want: "web.example:22 as ME"},
	{name: "given before written", host: "h", user: "me", port: 2022, config: "User other\nPort 1\n", want: "h:2022 as me"},
	{name: "first value wins", host: "h", config: "Port 1\nHost h\n Port 2\n User a\nHost *\n Port 3\n User b\n HostKeyAlias k\n", want: "h:1 as a\nalias k"},
	{name: "forms of lines", host: "h", config: "\tport=2022\n  User = \"me-too\"  # a comment\n#Port 1\nHOSTKEYALIAS\tk\r\n", want: "h:2022 as me-too\nalias k"},
	{name: "last line without an end", host: "h", config: "Host h\n Port 2022", want: "h:2022 as ME"},

	{name: "star", host: "a.example", config: "Host *.example\n Port 2\n", want: "a.example:2 as ME"},
	{name: "star is no other domain", host: "example", config: "Host *.example\n Port 2\n", want: "example:22 as ME"},
	{name: "several stars", host: "web-12.prod.example", config: "Host web-*.p*d.*\n Port 2\n", want: "web-12.prod.example:2 as ME"},
	{name: "question mark is one", host: "web1", config: "Host web?\n Port 2\n", want: "web1:2 as ME"},
	{name: "question mark is not none", host: "web", config: "Host web?\n Port 2\n", want: "web:22 as ME"},
	{name: "points are points", host: "axb", config: "Host a.b\n Port 2\n", want: "axb:22 as ME"},
	{name: "case counts", host: "WEB", config: "Host web\n Port 2\n", want: "web:22 as ME"},
	{name: "several patterns", host: "b", config: "Host a \"b\" c\n Port 2\n", want: "b:2 as ME"},
	{name: "comma is no separator", host: "a", config: "Host a,b\n Port 2\n", want: "a:22 as ME"},
	{name: "negated", host: "db.example", config: "Host *.example !db.example\n Port 2\n", want: "db.example:22 as ME"},
	{name: "negated first", host: "db.example", config: "Host !db.* *.example\n Port 2\n", want: "db.example:22 as ME"},
	{name: "negated another", host: "web.example", config: "Host !db.* *.example\n Port 2\n", want: "web.example:2 as ME"},
	{name: "negated alone", host: "web", config: "Host !db\n Port 2\n", want: "web:22 as ME"},
	{name: "comment after Host", host: "x", config: "Host a # x\n Port 2\n", want: "x:22 as ME"},

	{name: "Match host is about HostName", host: "web", config: "Host web\n HostName web.example\nMatch host web.example\n Port 2\nMatch host web\n Port 3\n", want: "web.example:2 as ME"},
	{name: "Match host before HostName", host: "web", config: "Match host web.example\n Port 2\nHost web\n HostName web.example\n", want: "web.example:22 as ME"},
	{name: "Match originalhost", host: "web", config: "Host web\n HostName web.example\nMatch originalhost web\n Port 2\n", want: "web.example:2 as ME"},
	{name: "Match lists", host: "b", config: "Match host a,b,!c\n Port 2\n", want: "b:2 as ME"},
	{name: "Match lists with negated", host: "c1", config: "Match host c*,!c1\n Port 2\n", want: "c1:22 as ME"},
	{name: "Match with capitals", host: "web", config: "MATCH Host WEB\n Port 2\n", want: "web:2 as ME"},
	{name: "Match not host", host: "web", config: "Match !host db\n Port 2\nMatch !host web\n User no\n", want: "web:2 as ME"},
	{name: "Match user by option", host: "h", user: "deploy", config: "Match user deploy\n Port 2\n", want: "h:2 as deploy"},
	{name: "Match user by line", host: "h", config: "User deploy\nMatch user dep*\n Port 2\n", want: "h:2 as deploy"},
	{name: "Match user by account", host: "h", config: "Match user ME\n Port 2\n", want: "h:2 as ME"},
	{name: "Match localuser", host: "h", config: "User deploy\nMatch localuser ME\n Port 2\nMatch localuser deploy\n Port 3\n", want: "h:2 as deploy"},
	{name: "Match several", host: "h", user: "u", config: "Match host h user v\n Port 2\nMatch host=h user \"u\" originalhost h # all of them\n Port 3\n", want: "h:3 as u"},
	{name: "Match all", host: "h", config: "Host other\n Port 2\nMatch all\n Port 3\n", want: "h:3 as ME"},
	{name: "Match final", host: "h", config: "Match final all\n Port 2\n User f\nHost h\n Port 3\n", want: "h:3 as f"},
	{name: "Match final sees the name", host: "h", config: "Host h\n HostName real.example\nHost real.example\n User second\nMatch final originalhost h\n Port 2\n", want: "real.example:2 as second"},
	{name: "Match canonical", host: "h", config: "Match canonical\n Port 2\n", want: "h:22 as ME"},
	{name: "Match exec elsewhere", host: "h", config: "Match host other exec \"exit 1\"\n Port 2\n", want: "h:22 as ME"},

	{name: "Include", host: "h", config: "Include one ~/.ssh/two\nPort 3\n", more: map[string]string{"one": "User u\n", "two": "Port 2\n"}, want: "h:2 as u"},
	{name: "Include of nothing", host: "h", config: "Include none none.d/*\nPort 3\n", want: "h:3 as ME"},
	{name: "Include by pattern", host: "h", config: "Include conf.d/*.conf\n", more: map[string]string{"conf.d/2.conf": "Port 2\n", "conf.d/1.conf": "Port 1\n", "conf.d/0": "Port 9\n"}, want: "h:1 as ME"},
	{name: "Include ends its blocks", host: "h", config: "Include one\nPort 3\n", more: map[string]string{"one": "Host other\n Port 2\n"}, want: "h:3 as ME"},
	{name: "Include in a block", host: "h", config: "Host h\n Include one\n User u\n", more: map[string]string{"one": "Port 2\nHost other\n User v\nMatch all\n HostKeyAlias k\n"}, want: "h:2 as u\nalias k"},
	{name: "Include in another block", host: "h", config: "Host other\n Include one\nHost *\n User u\n", more: map[string]string{"one": "Port 2\nHost *\n Port 3\n"}, want: "h:22 as u"},
	{name: "Include in Include", host: "h", config: "Include one\n", more: map[string]string{"one": "Include two\n", "two": "Port 2\n"}, want: "h:2 as ME"},

	{name: "token of HostName", host: "web", config: "HostName %h.example\n", want: "web.example:22 as ME"},
	{name: "percent sign of HostName", host: "r", config: "HostName fe80::1%%home\n", want: "fe80::1%home:22 as ME"},
	{name: "tokens of files", host: "web", config: "HostName real\nPort 2\nUser u\nIdentityFile ~/k/%h_%p_%r_%n_%u_%%\nIdentityFile %d/k/%k\n", want: "real:2 as u\nkeys [\"HOME/k/real_2_u_web_ME_%\" \"HOME/k/web\"]\nno usual keys"},
	{name: "alias as a token", host: "web", config: "HostKeyAlias a\nIdentityFile /k/%k\n", want: "web:22 as ME\nalias a\nkeys [\"/k/a\"]\nno usual keys"},
	{name: "variables", host: "web", config: "IdentityFile \"${KEYS}/%n\"\nIdentityAgent ${SOCKET}.1\n", want: "web:22 as ME\nkeys [\"/keys of/me/web\"]\nno usual keys\nagent /run/agent.1"},

	{name: "several keys", host: "h", config: "Host h\n IdentityFile /k/1\n IdentityFile '/k/2 too'\nHost *\n IdentityFile /k/3\\ too\n IdentityFile /k/1\n", want: "h:22 as ME\nkeys [\"/k/1\" \"/k/2 too\" \"/k/3 too\"]\nno usual keys"},
	{name: "a usual key named", host: "h", config: "IdentityFile ~/.ssh/id_rsa\nIdentitiesOnly true\n", want: "h:22 as ME\nkeys [\"HOME/.ssh/id_rsa\"]\nno usual keys\nonly these"},
	{name: "no keys", host: "h", config: "IdentityFile none\n", want: "h:22 as ME\nno usual keys"},
	{name: "only these", host: "h", config: "IdentitiesOnly Yes\nIdentityFile /k\n", want: "h:22 as ME\nkeys [\"/k\"]\nno usual keys\nonly these"},
	{name: "not only these", host: "h", config: "IdentitiesOnly no\nIdentitiesOnly yes\n", want: "h:22 as ME"},
	{name: "certificates", host: "h", config: "CertificateFile ~/c-%h.pub\nCertificateFile /c2\nIdentityFile /k\n", want: "h:22 as ME\nkeys [\"/k\"]\nno usual keys\ncertificates [\"HOME/c-h.pub\" \"/c2\"]"},
	{name: "agent", host: "h", config: "IdentityAgent \"~/agent of %r\"\n", want: "h:22 as ME\nagent HOME/agent of ME"},
	{name: "agent of the environment", host: "h", config: "IdentityAgent SSH_AUTH_SOCK\n", want: "h:22 as ME"},
	{name: "agent by a variable", host: "h", config: "IdentityAgent $SOCKET\n", want: "h:22 as ME\nagent /run/agent"},
	{name: "no agent", host: "h", config: "IdentityAgent none\n", want: "h:22 as ME\nagent "},

	{name: "known hosts", host: "h", config: "UserKnownHostsFile ~/kh1 /kh2\nUserKnownHostsFile /kh3\nGlobalKnownHostsFile /g1 /g2\n", want: "h:22 as ME\nknown hosts [\"HOME/kh1\" \"/kh2\" \"/g1\" \"/g2\"]"},
	{name: "known hosts with tokens", host: "h", config: "Port 2\nUserKnownHostsFile %d/kh_%h_%p_%r\nGlobalKnownHostsFile none\n", want: "h:2 as ME\nknown hosts [\"HOME/kh_h_2_ME\"]"},
	{name: "no known hosts", host: "h", config: "UserKnownHostsFile none\nGlobalKnownHostsFile none\n", want: "h:22 as ME\nknown hosts []"},
	{name: "new keys accepted", host: "h", config: "StrictHostKeyChecking accept-new\nStrictHostKeyChecking yes\n", want: "h:22 as ME\naccepts new ones"},
	{name: "new keys accepted in capitals", host: "h", config: "StrictHostKeyChecking Accept-New\n", want: "h:22 as ME\naccepts new ones"},
	{name: "new keys refused", host: "h", config: "StrictHostKeyChecking yes\nHost h\n StrictHostKeyChecking accept-new\n", want: "h:22 as ME"},

	{name: "jump", host: "h", config: "ProxyJump bastion\n", want: "h:22 as ME\nby  at bastion:0"},
	{name: "jumps", host: "h", config: "ProxyJump a@one:33,two,c@[::1]:44\n", want: "h:22 as ME\nby a at one:33\nby  at two:0\nby c at ::1:44"},
	{name: "jump by an address", host: "h", config: "ProxyJump ssh://a@one:33\n", want: "h:22 as ME\nby a at one:33"},
	{name: "jump with tokens", host: "h", config: "User u\nPort 2\nProxyJump %r@bastion-%h-%p\n", want: "h:2 as u\nby u at bastion-h-2:0"},
	{name: "no jump", host: "h", config: "ProxyJump none\nProxyJump bastion\n", want: "h:22 as ME"},
	{name: "no jump but a command", host: "h", config: "ProxyJump none\nProxyCommand nc\n", want: "h:22 as ME\nthrough nc"},
	{name: "jump before command", host: "h", config: "ProxyJump bastion\nProxyCommand nc\n", want: "h:22 as ME\nby  at bastion:0"},
	{name: "command before jump", host: "h", config: "ProxyCommand nc %h %p\nProxyJump bastion\n", want: "h:22 as ME\nthrough nc h 22"},
	{name: "no command", host: "h", config: "ProxyCommand none\nProxyJump bastion\n", want: "h:22 as ME"},
	{name: "command as it is written", host: "web", config: "HostName real\nUser u\nProxyCommand = \"/opt/a b\" '%h' %p %r@%n 50%% # ${HOME} ~  \n", want: "real:22 as u\nthrough \"/opt/a b\" 'real' 22 u@web 50% # ${HOME} ~"},
}
